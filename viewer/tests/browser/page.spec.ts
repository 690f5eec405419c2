// The page that the program writes: views, accessibility, state, exports.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, type Page, test } from "@playwright/test";
import { headKey, kindTitle } from "../../src/capture";
import type { Capture, Head } from "../../src/capture.gen";
import { lostBetween } from "../../src/outcome";
import { rowsOf } from "../../src/packed";
import { violations } from "./axe";
import { folderOf, program, tinyText } from "./model";
import { numbersOf, open, saved, windows } from "./open";
import { type Tensor, tensorsOf } from "./tensors";

// PAGE and CAPTURE: page and JSON of an encoder.
const page = process.env["PAGE"]!;
const translation = join(mkdtempSync(join(tmpdir(), "translation-")), "page.html");
const capture = JSON.parse(readFileSync(process.env["CAPTURE"]!, "utf8")) as Capture;

test.beforeAll(() => {
  const words = ["t5", "t9", "t5", "t11", "t20", "t7"].join(" ");
  execFileSync(program, ["attend", folderOf("bart"), words, "--generate", "5", "--html", translation, "-q"]);
});

async function tabs(browser: Page): Promise<string[]> {
  return browser.getByRole("tab").allTextContents();
}

for (const [width, colorScheme] of windows)
  for (const [name, file] of [
    ["an encoder", page],
    ["a translation", translation],
  ] as const)
    test(`${name}: every view opens without errors or violations at ${width} pixels, ${colorScheme}`, async ({
      page: browser,
    }) => {
      await browser.setViewportSize({ width, height: 900 });
      await browser.emulateMedia({ colorScheme });
      const errors = await open(browser, file);
      await browser.locator("summary").click();
      const views = await tabs(browser);
      expect(views.length).toBeGreaterThanOrEqual(8);
      for (const view of views) {
        await browser.getByRole("tab", { name: view }).click();
        const parts = view === views[0] ? [] : ["#view", ".toolbar"];
        expect(await violations(browser, ...parts), view).toEqual([]);
        const overflow = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow, view).toBeLessThanOrEqual(0);
      }
      expect(errors).toEqual([]);
    });

for (const width of [768, 2560])
  test(`nothing is wider than a window of ${width} pixels`, async ({ page: browser }) => {
    await browser.setViewportSize({ width, height: 900 });
    await open(browser, translation);
    for (const view of await tabs(browser)) {
      await browser.getByRole("tab", { name: view }).click();
      const overflow = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, view).toBeLessThanOrEqual(0);
    }
  });

test("captures of the program fit the schema", () => {
  const schema = JSON.parse(readFileSync("../docs/capture.schema.json", "utf8")) as object;
  const fits = new Ajv2020().compile(schema);
  expect(fits(capture), JSON.stringify(fits.errors)).toBe(true);
});

test("the exported numbers are those of the capture", async ({ page: browser }) => {
  await open(browser, page);
  expect(JSON.parse(await saved(browser, "json"))).toEqual(capture);
  for (const head of capture.attention.slice(0, 3)) {
    await open(browser, page, `#head=${head.kind}.${head.layer}.${head.head}`);
    expect(numbersOf(await saved(browser, "csv"))).toEqual(rowsOf(head.weights!));
  }
});

test("steps and neurons compute the model's own weights from its vectors", async ({ page: browser }) => {
  const head = capture.attention[0]!;
  await open(browser, page, `#head=${head.kind}.${head.layer}.${head.head}&view=steps&row=1`);
  await browser.getByRole("button", { name: "Softmax" }).click();
  await expect(browser.getByText("The model's own weights (8 bit): largest difference")).toBeVisible();
  await browser.getByLabel("K = Q").check();
  await expect(browser.getByText("A switch is changed")).toBeVisible();
  await browser.getByRole("button", { name: "Q Kᵀ" }).click();
  await expect(browser.getByText("This matrix is symmetric.")).toBeVisible();
  await browser.getByRole("tab", { name: "Neurons" }).click();
  const weights = await browser.locator(".strips tbody td:last-child").allTextContents();
  rowsOf(head.weights!)[1]!.forEach((weight, c) => {
    const text = weights[c]!;
    const shown = text === "< 0.1 %" ? 0 : Number(text.replace(" %", "")) / 100;
    expect(Math.abs(shown - weight)).toBeLessThan(1 / 255 + 0.0006);
  });
});

test("generation shows the probabilities of the capture, and filters change them", async ({
  page: browser,
}) => {
  await open(browser, translation, "#view=generation&written=1");
  const shown = JSON.parse(await saved(browser, "json")) as Capture;
  const step = shown.steps![1]!;
  const first = Math.exp(step.logits[0]! - step.log_sum_exp);
  await expect(browser.locator(".generation .bars .number").first()).toHaveText(
    `${(100 * first).toFixed(1)} %`,
  );
  await browser.getByLabel("Top-k").fill("1");
  await expect(browser.locator(".generation .bars .number").first()).toHaveText("100.0 %");
  await expect(browser).toHaveURL(/top-k=1/);
  const rows = await browser.locator(".generation .tokens").nth(1).locator(".token").count();
  expect(rows).toBe(shown.tokens.source!.text.length);
  await browser.getByLabel("Step", { exact: true }).fill("2");
  await expect(browser).toHaveURL(/written=2/);
});

test("keys select heads and tokens, undo goes back, the address keeps the state", async ({
  page: browser,
}) => {
  await open(browser, page, "#head=encoder.0.0");
  await browser.keyboard.press("ArrowRight");
  await expect(browser).toHaveURL(/head=encoder\.0\.1/);
  await browser.keyboard.press("j");
  await expect(browser).toHaveURL(/row=0/);
  await expect(browser.getByRole("heading", { name: "attends to" })).toBeVisible();
  await browser.keyboard.press("Control+z");
  await browser.keyboard.press("Control+z");
  await expect(browser).toHaveURL(/head=encoder\.0\.0/);
});

test("several heads are drawn together", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0&view=lines");
  await browser.getByRole("button", { name: /layer 0, head 1\b/ }).click({ modifiers: ["Shift"] });
  await expect(browser.locator(".legend")).toContainText("head 1");
});

test("weights are summed over chosen tokens", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0&sum=1,2");
  const weights = rowsOf(capture.attention[0]!.weights!);
  const sum = weights[0]![1]! + weights[0]![2]!;
  await expect(browser.getByRole("heading", { name: /^Sum over/ })).toBeVisible();
  await expect(browser.locator(".panel .bars .number").first()).toHaveText(`${(100 * sum).toFixed(1)} %`);
});

test("a written page has what changes without the most telling heads, and a second text", async ({
  page: browser,
}) => {
  const folder = folderOf("bart");
  const file = join(mkdtempSync(join(tmpdir(), "what-if-")), "page.html");
  const run = (...more: string[]) =>
    execFileSync(program, ["attend", folder, tinyText, ...more, "-q"], { maxBuffer: 1 << 28 }).toString();
  const target = ["--target", "t9 t8"];
  run(...target, "--html", file, "--compare", "t9 t9 t5");
  expect(await open(browser, file, "#view=whatif")).toEqual([]);
  const shown = JSON.parse(await saved(browser, "json")) as Capture;
  const schema = JSON.parse(readFileSync("../docs/capture.schema.json", "utf8")) as object;
  const fits = new Ajv2020().compile(schema);
  expect(fits(shown), JSON.stringify(fits.errors)).toBe(true);
  expect(shown.compared!.text).toBe("t9 t9 t5");
  expect(shown.what_if).toHaveLength(10);
  for (const { off, lost, changes } of shown.what_if!.slice(0, 3)) {
    const without = JSON.parse(run(...target, "--ablate", off, "--json")) as Capture;
    expect(lost).toBeCloseTo(lostBetween(shown, without)!, 5);
    expect(changes.length).toBeGreaterThan(0);
    for (const { head, weights } of changes.filter((each) => each.weights))
      expect(weights).toEqual(without.attention.find((each) => headKey(each) === head)!.weights);
  }
  const [kind, layer, head] = shown.what_if![0]!.off.split(".");
  const title = kindTitle[kind as Head["kind"]];
  await browser.getByRole("button", { name: `Switch off ${title}, layer ${layer}, head ${head}` }).click();
  await expect(browser.getByText("Next token, after the same tokens as before")).toBeVisible();
  const off = browser.getByRole("button", { name: /^Switch off/ });
  expect(
    await off.evaluateAll((all) => all.filter((each) => !(each as HTMLButtonElement).disabled).length),
  ).toBe(10);
  await browser.getByRole("tab", { name: "Compare" }).click();
  await expect(browser.locator(".split svg")).toHaveCount(2);
});

test("one head without trained parameters: symmetric, as the switches say", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0&view=steps&step=3&parameters=none");
  await expect(browser.getByText("This matrix is symmetric.")).toBeVisible();
  await browser.getByLabel("Parameters").selectOption("random");
  await expect(browser).toHaveURL(/parameters=random/);
  await expect(browser.getByText("This matrix is not symmetric")).toBeVisible();
  await browser.getByLabel("K = Q").check();
  await expect(browser.getByText("This matrix is symmetric.")).toBeVisible();
});

test("common errors have this run's numbers and lead to the place", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0&view=errors");
  const rows = capture.attention.flatMap((head) => rowsOf(head.weights!).map((row, i) => [row, i] as const));
  const own = rows.filter(([row, i]) => row[i]! >= Math.max(...row)).length;
  await expect(browser.getByText(`${own} of ${rows.length} rows`)).toBeVisible();
  await browser.getByRole("button", { name: "Switch K = Q on and off" }).click();
  await expect(browser).toHaveURL(/view=steps/);
});

test("a block of the model opens with its weights", async ({ page: browser }) => {
  await open(browser, translation);
  await browser.locator("summary").click();
  await browser.getByRole("button", { name: "Decoder self-attention, layer 0", exact: true }).click();
  await expect(browser.locator(".inside-block")).toContainText("query");
  await expect(browser).toHaveURL(/head=decoder\.0\./);
});

test("the exported picture has the numbers, axes and scale", async ({ page: browser }) => {
  const head = capture.attention[0]!;
  await open(browser, page, `#head=${head.kind}.${head.layer}.${head.head}`);
  const svg = await saved(browser, "svg");
  await browser.setContent(svg);
  const weights = rowsOf(head.weights!);
  await expect(browser.locator("rect title")).toHaveText(weights.flat().map(String));
  const words = await browser.locator("text").allTextContents();
  const largest = Math.max(...weights.flat());
  for (const each of [head.caption, "attends to →", "token ↓", "0 %", String(Math.round(100 * largest))])
    expect(words).toContain(each);
});

test("a PNG of the shown head is exported", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0");
  const download = browser.waitForEvent("download");
  await browser.getByLabel("Save as").selectOption("png");
  const bytes = readFileSync(await (await download).path());
  expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  const size = await browser.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    return [image.width, image.height];
  }, bytes.toString("base64"));
  const tokens = capture.tokens.source!.text.length;
  for (const side of size) expect(side).toBeGreaterThan(30 * tokens);
});

test("every part of the state is in the address and restored from it", async ({ page: browser }) => {
  const parts = {
    head: "encoder.0.1",
    view: "steps",
    row: "1",
    column: "2",
    step: "3",
    feature: "2",
    temperature: "0.5",
    "top-k": "3",
    "top-p": "0.9",
    "no-special": "1",
    "no-sinks": "1",
    largest: "1",
    "same-query-key": "1",
    scale: "0",
    parameters: "random",
    with: "encoder.0.0",
    sum: "1,2",
    place: "encoder.0",
  };
  await open(browser, page, `#${new URLSearchParams(parts).toString()}`);
  await browser.getByRole("button", { name: "Next" }).click(); // makes the page write its state to the address
  const written = Object.fromEntries(new URLSearchParams(new URL(browser.url()).hash.slice(1)));
  expect(written).toEqual({ ...parts, step: "4" });
});

test("basics: positions are dragged over, and the gradient of the softmax vanishes with d", async ({
  page: browser,
}) => {
  await open(browser, page, "#view=basics");
  const map = browser.getByRole("img", { name: /^Sinusoidal/ });
  const box = (await map.boundingBox())!;
  await browser.mouse.move(box.x + 20, box.y + box.height * (5.5 / 64));
  await browser.mouse.down();
  await expect(browser.getByText(/^position 5:/)).toBeVisible();
  await browser.mouse.move(box.x + 40, box.y + box.height * (20.5 / 64));
  await expect(browser.getByText(/^position 20:/)).toBeVisible();
  await browser.mouse.up();
  const gradients = async (index: number, d: number) => {
    await browser.getByLabel("Features d").fill(String(index));
    await expect(browser.getByText(`d = ${d}`, { exact: true })).toBeVisible();
    const texts = await browser.getByText(/mean gradient/).allTextContents();
    return texts.map((text) => Number(/mean gradient (\S+)/.exec(text)![1]));
  };
  const [few, fewScaled] = await gradients(0, 12);
  const [many, manyScaled] = await gradients(8, 2048);
  expect(many!).toBeLessThan(few! / 100);
  expect(manyScaled!).toBeGreaterThan(fewScaled! / 10);
});

const text = (value: number, digits = 2) =>
  value
    .toFixed(digits)
    .replace("-", "−")
    .replace(/^−(?=0\.0*$)/, "");

test("steps show the input and the output of the layer", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0&view=steps");
  const shown = JSON.parse(await saved(browser, "json")) as Capture;
  const state = (name: string) => rowsOf(shown.activations!.find((each) => each.name === name)!.values);
  const first = browser.locator(".steps td").first();
  await expect(first).toHaveText(text(state("encoder.0.self.input")[0]![0]!));
  await browser.getByRole("button", { name: "W_O", exact: true }).click();
  await expect(first).toHaveText(text(state("encoder.0.self.output")[0]![0]!));
});

test("a number of Q is the dot product of X and the checkpoint's W_Q, term by term", async ({
  page: browser,
}) => {
  const tensor = tensorsOf("../tests/data/hf-more/bert-nli/model.safetensors");
  const [weight, bias] = ["weight", "bias"].map(
    (name) =>
      tensor(`bert.encoder.layer.1.attention.self.query.${name}`) ??
      tensor(`encoder.layer.1.attention.self.query.${name}`)!,
  ) as [Tensor, Tensor];
  const hidden = weight.shape[1]!;
  await open(browser, page, "#head=encoder.1.1&view=steps&step=1");
  const shown = JSON.parse(await saved(browser, "json")) as Capture;
  const head = shown.attention.find((each) => each.layer === 1 && each.head === 1)!;
  const query = rowsOf(head.values!.query);
  const x = rowsOf(shown.activations!.find(({ name }) => name === "encoder.1.self.input")!.values);
  const [row, feature] = [2, 3];
  const at = query[0]!.length + feature; // of head 1
  await browser.locator(".steps .picking tr").nth(row).locator("td").nth(feature).click();
  await expect(browser).toHaveURL(/feature=3/);
  const terms = Object.fromEntries(
    await browser
      .locator(".terms tbody tr")
      .evaluateAll((all) =>
        all.map((tr) => [
          tr.querySelector("th")!.textContent,
          [...tr.querySelectorAll("td")].map((td) => td.textContent),
        ]),
      ),
  ) as Record<string, string[]>;
  expect(Object.keys(terms).length).toBe(hidden);
  let sum = bias.at(at);
  for (let i = 0; i < hidden; ++i) {
    const w = weight.at(at * hidden + i);
    const numbers = terms[String(i)]!.map((each) => Number(each.replace("−", "-")));
    [x[row]![i]!, w, x[row]![i]! * w].forEach((expected, n) =>
      expect(Math.abs(numbers[n]! - expected)).toBeLessThan(0.0006),
    );
    sum += x[row]![i]! * w;
  }
  expect(Math.abs(sum - query[row]![feature]!)).toBeLessThan(1e-4);
  const result = await browser.locator(".steps .formula b").textContent();
  expect(Math.abs(Number(result!.replace("−", "-")) - sum)).toBeLessThan(0.001);
  await expect(browser.getByText("is the model's own Q: largest difference")).toBeVisible();
  // The sum of all heads' parts is the layer's output.
  await browser.getByRole("button", { name: "W_O", exact: true }).click();
  const output = rowsOf(shown.activations!.find(({ name }) => name === "encoder.1.self.output")!.values);
  await expect(
    browser.getByText(`The model's own number: ${text(output[row]![feature]!, 3)}.`),
  ).toBeVisible();
  // The arrow keys select a cell, and the focus stays.
  await browser.getByRole("group", { name: /^Output of the layer/ }).focus();
  await browser.keyboard.press("ArrowRight");
  await browser.keyboard.press("ArrowRight");
  await expect(browser).toHaveURL(/feature=5/);
});

test("steps are read with the keyboard: the focus stays on Next and Play", async ({ page: browser }) => {
  await open(browser, page, "#head=encoder.0.0&view=steps");
  await browser.getByRole("button", { name: "Next" }).focus();
  for (const step of [1, 2, 3]) {
    await browser.keyboard.press("Enter");
    await expect(browser).toHaveURL(new RegExp(`step=${step}`));
  }
  await expect(browser.getByRole("button", { name: "Next" })).toBeFocused();
  await browser.getByRole("button", { name: "Play" }).focus();
  await browser.keyboard.press("Enter");
  await expect(browser.getByRole("button", { name: "Pause" })).toBeFocused();
});
