// The views "Beams", "Tokenizers" and "Training": captures made by hand, written pages, and the served page.
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { nodeAt, pathTo, resultsOf } from "../../src/beams";
import type { Capture } from "../../src/capture.gen";
import { rowsOf } from "../../src/packed";
import { sampleBeams, sampleCapture, sampleFilm, sampleTokenizers } from "../sample";
import { violations } from "./axe";
import { folderOf, program, tinyText } from "./model";
import { open, pageWith, saved, windows } from "./open";
import { serve } from "./server";

const folder = mkdtempSync(join(tmpdir(), "search-"));
const run = (args: string[], input = "") => execFileSync(program, args, { input, encoding: "utf8" });

function sample(source?: string[]): Capture {
  const capture = sampleCapture(source ? { source } : {});
  sampleTokenizers(capture);
  sampleBeams(capture);
  sampleFilm(capture);
  return capture;
}

async function show(browser: Page, name: string, capture: Capture, fragment: string): Promise<void> {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, pageWith(capture));
  expect(await open(browser, file, fragment)).toEqual([]);
}

for (const [width, colorScheme] of windows)
  test(`the views fit ${width} pixels, ${colorScheme}, without violations`, async ({ page: browser }) => {
    await browser.setViewportSize({ width, height: 844 });
    await browser.emulateMedia({ colorScheme });
    for (const view of ["beams", "tokenizers", "film"]) {
      await show(browser, `${view}-${width}-${colorScheme}`, sample(), `#view=${view}`);
      await expect(browser.locator("#view table").first()).toBeVisible();
      expect(await violations(browser, "#view")).toEqual([]);
      const [content, visible] = await browser
        .locator("body")
        .evaluate((body) => [body.scrollWidth, innerWidth] as const);
      expect(content).toBeLessThanOrEqual(visible);
    }
  });

test("a piece stands under its characters, and selecting it selects those of the others", async ({
  page: browser,
}) => {
  await show(browser, "pieces", sample(), "#view=tokenizers");
  const rows = browser.locator(".strip-of-text tr");
  await expect(rows.nth(0).locator("bdi")).toHaveText(["the", "quick", "fox", "</s>"]);
  await expect(rows.nth(2).locator("bdi")).toHaveText([
    "th",
    "e",
    "qu",
    "ic",
    "k",
    "fo",
    "x",
    "</",
    "s>",
    "[SEP]",
  ]);
  const counts = browser.locator(".counts tbody tr");
  await expect(counts.nth(0).locator("td")).toHaveText(["sample", "WordLevel", "1,000", "5", "1.00"]);
  await expect(counts.nth(1).locator("td")).toHaveText(["pairs", "BPE", "1,000", "10", "2.25"]);
  const word = await rows.nth(1).getByRole("button", { name: "quick" }).boundingBox();
  for (const name of ["qu", "ic", "k"]) {
    const piece = await rows.nth(2).getByRole("button", { name, exact: false }).first().boundingBox();
    expect(piece!.x).toBeGreaterThanOrEqual(word!.x - 1);
    expect(piece!.x + piece!.width).toBeLessThanOrEqual(word!.x + word!.width + 1);
  }
  await rows.nth(2).getByRole("button", { name: "ic" }).click();
  await expect(browser).toHaveURL(/piece=1\.3/);
  await expect(browser.locator(".strip-of-text .now bdi")).toHaveText(["quick", "ic"]);
  await expect(rows.nth(2).getByRole("button", { name: "ic" })).toBeFocused();
  await rows.nth(1).getByRole("button", { name: "quick" }).click();
  await expect(browser.locator(".strip-of-text .now bdi")).toHaveText(["quick", "qu", "ic", "k"]);
  for (let i = 0; i < 2; ++i) await browser.getByRole("button", { name: "Undo" }).click();
  await expect(browser.locator(".strip-of-text .now")).toHaveCount(0);
});

test("lines of pieces wrap, and run from right to left in Arabic", async ({ page: browser }) => {
  await browser.setViewportSize({ width: 390, height: 844 });
  const source = "كان الامتحان سهلا جدا ولم يكن أحد من الطلاب خائفا منه".split(" ");
  await show(browser, "arabic", sample(source), "#view=tokenizers");
  const lines = browser.locator(".strips-of-text > div");
  expect(await lines.count()).toBeGreaterThan(1);
  // Measure both words in one call, because the view is drawn again when its width is known.
  const places = () =>
    lines
      .first()
      .locator(".words bdi")
      .evaluateAll((pieces) => pieces.map((piece) => piece.getBoundingClientRect().x));
  await expect.poll(async () => (await places()).length).toBeGreaterThan(1);
  const [first, second] = await places();
  expect(first!).toBeGreaterThan(second!);
});

test("a hypothesis is selected in the tree and in the table", async ({ page: browser }) => {
  await show(browser, "tree", sample(), "#view=beams");
  await expect(browser.locator(".beam-tree .won bdi")).toHaveText(["a", "b", "."]);
  await expect(browser.locator(".beam-tree .dropped bdi")).toHaveText(["c", "e"]);
  await browser.getByRole("button", { name: /^Step 2: c, score −0.75, dropped at the next step/ }).click();
  await expect(browser).toHaveURL(/beam=1\.kept\.1/);
  await expect(browser.locator(".beams p[role=status]")).toHaveText(
    "ac log-probability −1.500, score −0.750: dropped at the next step.",
  );
  await browser.getByRole("row", { name: "2 d" }).getByRole("button").click();
  await expect(browser.locator(".beam-tree .now bdi")).toHaveText(["d", "."]);
  await browser.reload();
  await expect(browser.locator(".beams p[role=status]")).toContainText("ended; rank 2 of the results");
});

test("a search without steps does not seem to run", async ({ page: browser }) => {
  const capture = sample();
  capture.beams!.steps = [];
  await show(browser, "no-steps", capture, "#view=beams");
  await expect(browser.locator("#view .note")).toHaveText("The search has no steps.");
  await expect(browser.getByText("Computing…")).toHaveCount(0);
});

test("the film shows the weights of the chosen checkpoint and head", async ({ page: browser }) => {
  const capture = sample();
  await show(browser, "film", capture, "#view=film");
  const cells = browser.locator(".film .matrix tbody td");
  const shown = async () => (await cells.allTextContents()).map((text) => Number(text.replace("<1", "0")));
  const percents = (head: number, frame: number) =>
    rowsOf(capture.film!.frames[frame]!.weights[head]!)
      .flat()
      .map((weight) => Math.round(100 * weight));
  await expect(browser.getByText("step 200", { exact: true })).toBeVisible();
  expect(await shown()).toEqual(percents(0, 1));
  await browser.getByRole("button", { name: "Step 10" }).click();
  await expect(browser).toHaveURL(/frame=0/);
  expect(await shown()).toEqual(percents(0, 0));
  await browser.getByRole("button", { name: "Cross-attention, layer 1, head 1" }).first().click();
  await browser.getByLabel("Checkpoint", { exact: true }).fill("1");
  expect(await shown()).toEqual(percents(1, 1));
  await browser.reload();
  expect(await shown()).toEqual(percents(1, 1));
  await browser.getByRole("button", { name: "Step 10" }).click();
  await browser.getByRole("button", { name: "Play" }).click();
  await expect(browser.getByText("step 200", { exact: true })).toBeVisible();
  await expect(browser.getByRole("button", { name: "Play" })).toBeVisible(); // it stops at the last checkpoint
});

test("a written page has the numbers of translate and tokenizer encode", async ({ page: browser }) => {
  const [translator, reader] = [folderOf("bart"), folderOf("bert")];
  const file = join(folder, "written.html");
  const search = ["--beam", "3"];
  run(
    ["attend", translator, tinyText, "--html", file, "--generate", "6", "--tokenizer", reader, "-q"].concat(
      search,
    ),
  );
  expect(await open(browser, file, "#view=beams")).toEqual([]);
  const { beams, tokenizers } = JSON.parse(await saved(browser, "json")) as Capture;
  const line = JSON.parse(
    run(
      ["translate", translator, "--n-best", "3", "--max-new", "6", "--json", "--log-probabilities"].concat(
        search,
      ),
      `${tinyText}\n`,
    ),
  ) as { hypotheses: { score: number; pieces: { id: number }[] }[] };
  const results = resultsOf(beams!);
  expect(results.map((place) => pathTo(beams!, place).map((each) => nodeAt(beams!, each).id))).toEqual(
    line.hypotheses.map(({ pieces }) => pieces.map(({ id }) => id)),
  );
  results.forEach((place, i) =>
    expect(nodeAt(beams!, place).score).toBeCloseTo(line.hypotheses[i]!.score, 5),
  );
  await expect(browser.locator(".results tbody tr")).toHaveCount(results.length);
  const encoded = JSON.parse(
    run(["tokenizer", "encode", "-T", reader, "--plain-text", "--json"], `${tinyText}\n`),
  ) as { ids: number[] };
  expect(tokenizers!.map(({ name }) => name)).toEqual([translator, reader]);
  expect(tokenizers![1]!.tokens.ids).toEqual(encoded.ids);
  await browser.getByRole("tab", { name: "Tokenizers" }).click();
  await expect(browser.locator(".strip-of-text tr").nth(2).locator(".token small")).toHaveText(
    encoded.ids.map(String),
  );
});

test("the served page searches with another width and knows all tokenizers", async ({ page: browser }) => {
  const server = await serve({ translator: folderOf("bart"), reader: folderOf("bert") });
  try {
    if (process.env["DEVELOP"])
      await browser.route(`${server.url}/`, (route) =>
        route.fulfill({ contentType: "text/html", body: pageWith(null) }),
      );
    const asked = new URLSearchParams({
      text: tinyText,
      model: "translator",
      generate: "6",
      view: "beams",
      beams: "2",
    });
    await browser.goto(`${server.url}/#${asked.toString()}`);
    await expect(browser.locator(".results tbody tr")).toHaveCount(2);
    await browser.getByLabel("Number of beams").fill("5");
    await browser.getByLabel("Number of beams").press("Enter");
    await expect(browser.locator(".results tbody tr")).toHaveCount(5);
    await expect(browser).toHaveURL(/beams=5/);
    await browser.getByRole("tab", { name: "Tokenizers" }).click();
    await expect(browser.locator(".counts .name")).toHaveText(["translator", "reader"]);
    expect(await violations(browser, "#view")).toEqual([]);
  } finally {
    await server.stop();
  }
});
