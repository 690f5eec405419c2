// Views of captures made by hand: controls that every device can use, and words that are true for the model.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import type { Capture } from "../../src/capture.gen";
import { rmsNorm } from "../../src/norms";
import { rowsOf } from "../../src/packed";
import { packed32, sampleCapture, sampleSteps, sampleVectors } from "../sample";
import { violations } from "./axe";
import { open, pageWith, saved } from "./open";

const folder = mkdtempSync(join(tmpdir(), "views-"));

async function show(browser: Page, name: string, capture: Capture, fragment = ""): Promise<void> {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, pageWith(capture));
  expect(await open(browser, file, fragment)).toEqual([]);
}

test("further heads are drawn and removed without the Shift key", async ({ page: browser }) => {
  await browser.setViewportSize({ width: 390, height: 844 });
  await show(browser, "overlay", sampleCapture(), "#view=lines&head=cross.0.0");
  const chooser = browser.getByLabel("Draw another head");
  // a first entry and the five other cross-attention heads
  await expect(chooser.locator("option")).toHaveCount(1 + 5);
  await chooser.selectOption("cross.1.2");
  await expect(browser).toHaveURL(/with=cross\.1\.2/);
  await expect(browser.locator(".legend span")).toHaveCount(2);
  expect(await violations(browser, "#view")).toEqual([]);
  await browser.getByRole("button", { name: "Remove Cross-attention, layer 1, head 2" }).click();
  await expect(browser.locator(".legend span")).toHaveCount(0);
});

test("controls without an effect are not offered", async ({ page: browser }) => {
  await show(browser, "controls", sampleCapture(), "#view=map");
  await expect(browser.getByRole("button", { name: "Undo" })).toHaveAttribute("aria-disabled", "true");
  await expect(browser.getByLabel("scale to the largest weight")).toBeVisible();
  await browser.getByRole("tab", { name: "Table" }).click();
  await expect(browser.getByLabel("scale to the largest weight")).toBeHidden();
  await expect(browser.getByRole("button", { name: "Undo" })).toHaveAttribute("aria-disabled", "false");
});

test("a decoder's generation begins at the first written token and names the given ones", async ({
  page: browser,
}) => {
  const capture = sampleCapture({ kind: "decoder", target: ["a", "river", "runs", "to", "the"] });
  capture.prompt_tokens = 3;
  sampleSteps(capture);
  capture.steps![0]!.ids = [900, 901, 902, 903, 904]; // the given token is not listed
  capture.steps![0]!.written_logit = capture.steps![0]!.log_sum_exp + Math.log(0.0019);
  await show(browser, "given", capture, "#view=generation");
  await expect(browser.locator(".generation .token.now")).toHaveText("to");
  await expect(browser.locator(".generation .token.given")).toHaveText(["river", "runs"]);
  await browser.locator(".generation .token.given").first().click();
  await expect(browser.getByText("which is given; percent")).toBeVisible();
  await expect(browser.getByText("The given token is not listed: its probability is 0.19 %.")).toBeVisible();
  expect(await violations(browser, "#view")).toEqual([]);
});

test("candidates that are parts of characters are shown as bytes", async ({ page: browser }) => {
  const capture = sampleCapture();
  sampleSteps(capture);
  Object.assign(capture.steps![0]!, {
    text: ["▁brown", "Â", "▁", "a", "b"],
    bytes: ["", "c2", "", "", ""],
  });
  await show(browser, "bytes", capture, "#view=generation");
  await expect(browser.locator(".generation .bars bdi")).toHaveText(["brown", "‹C2›", "␣", "a", "b"]);
});

test("a picture with control characters is exported as well-formed XML", async ({ page: browser }) => {
  const capture = sampleCapture({
    kind: "encoder",
    source: ["a\u0001", "<b>", "\ufffe"],
    layers: 1,
    heads: 1,
  });
  capture.attention[0]!.caption = "Caption\u0002";
  await show(browser, "control", capture);
  const texts = await browser.evaluate(
    (svg) => {
      const document = new DOMParser().parseFromString(svg, "image/svg+xml");
      return [...document.querySelectorAll("parsererror, text")].map((node) => node.textContent);
    },
    await saved(browser, "svg"),
  );
  expect(texts).toEqual(expect.arrayContaining(["Caption‹02›", "a‹01›", "<b>", "‹EF BF BE›"]));
});

test("a norm without a mean is not called a layer norm", async ({ page: browser }) => {
  const capture = sampleCapture();
  sampleVectors(capture);
  const states = rowsOf(capture.activations!.find(({ name }) => name === "encoder.embedding")!.values);
  const input = capture.activations!.find(({ name }) => name === "encoder.0.self.input")!;
  input.values = packed32(
    states.map((state) => rmsNorm(state).normalised.map((x, i) => x * (0.5 + 0.1 * i))),
  );
  await show(browser, "rms", capture, "#view=layers");
  await expect(browser.getByRole("heading", { name: "1. RMS norm" })).toBeVisible();
  await expect(browser.getByText("No mean is subtracted.")).toBeVisible();
});

test("paths, position and number of features are in the address", async ({ page: browser }) => {
  const capture = sampleCapture();
  sampleVectors(capture);
  await show(browser, "links", capture, "#view=meaning&path=0,2");
  const picked = browser.locator('.meaning .chip[aria-pressed="true"]');
  await expect(picked).toHaveText(["the", "fox"]);
  await browser.getByRole("button", { name: "quick" }).click();
  await expect(browser).toHaveURL(/path=0%2C2%2C1/);
  await expect(picked).toHaveCount(3);
  await browser.getByRole("button", { name: "Undo" }).click();
  await expect(picked).toHaveCount(2);
  await browser.getByRole("tab", { name: "Basics" }).click();
  await browser.getByLabel("Features d").fill("8");
  await browser.getByLabel("Position", { exact: true }).fill("20");
  await expect(browser).toHaveURL(/position=20&d=2048/);
  await browser.reload();
  await expect(browser.getByText("d = 2048", { exact: true })).toBeVisible();
  await expect(browser.getByText(/^position 20:/)).toBeVisible();
});

test("the path of a common word is drawn for both texts", async ({ page: browser }) => {
  const [one, two] = [
    sampleCapture({ source: ["money", "bank", "grows", "</s>"] }),
    sampleCapture({ source: ["river", "bank", "flows", "</s>"] }),
  ];
  for (const capture of [one, two]) sampleVectors(capture);
  one.compared = two;
  await show(browser, "both", one, "#view=compare");
  const drawn = browser.locator(".compare .picture text.over");
  await expect(drawn).toHaveText(["bank ¹", "bank ²", "money ¹", "grows ¹", "river ²", "flows ²"]);
  // The paths have the colours of the scheme.
  const colour = () => drawn.first().evaluate((node) => getComputedStyle(node).fill);
  const light = await colour();
  await browser.emulateMedia({ colorScheme: "dark" });
  await expect.poll(colour).not.toBe(light);
});

test("long texts are compared by their first tokens", async ({ page: browser }) => {
  const source = Array.from({ length: 400 }, (_, i) => `word${i}`);
  const one = sampleCapture({ kind: "encoder", source, layers: 1, heads: 1 });
  one.compared = structuredClone(one);
  await show(browser, "long", one, "#view=compare");
  await expect(browser.locator(".split svg").first().locator("rect.patch")).toHaveCount(64 * 64);
});

test("the table of a long text says that it is cut", async ({ page: browser }) => {
  const shown = browser.getByRole("table");
  for (const [count, rows] of [
    [64, 64],
    [65, 64],
  ] as const) {
    const source = Array.from({ length: count }, (_, i) => `word${i}`);
    await show(browser, "table", sampleCapture({ kind: "encoder", source }), "#view=table");
    await expect(shown.locator("tbody tr")).toHaveCount(rows);
    await expect(shown.locator("tbody td")).toHaveCount(rows * rows);
    const caption = await shown.locator("caption").textContent();
    expect(caption).toContain("Each row sums to 100.");
    expect(caption!.endsWith("The first 64 rows and columns are shown; the CSV export has all.")).toBe(
      count > rows,
    );
  }
});

test("the map of a text of a dozen tokens is visible without scrolling", async ({ page: browser }) => {
  await browser.setViewportSize({ width: 1280, height: 900 });
  const source = Array.from({ length: 14 }, (_, i) => `word${i}`);
  await show(browser, "whole", sampleCapture({ kind: "encoder", source }), "#view=map");
  const [content, visible] = await browser
    .locator(".scroller")
    .evaluate((node) => [node.scrollHeight, node.clientHeight] as const);
  expect(content).toBeLessThanOrEqual(visible + 1);
});

test("lines of a few words over many positions are the largest of each word", async ({ page: browser }) => {
  const source = Array.from({ length: 100 }, (_, i) => `${(0.02 * i).toFixed(2)} s, band 0`);
  await browser.setViewportSize({ width: 390, height: 844 });
  await show(browser, "positions", sampleCapture({ source }), "#view=lines&head=cross.0.0");
  await expect(browser.locator(".lines path")).toHaveCount(3 * 3);
  await expect(browser.locator(".lines svg text").filter({ hasText: "0.02 s, band 0" })).toHaveCount(1);
});

test("lines are drawn if the selected token is not among the drawn ones", async ({ page: browser }) => {
  const source = Array.from({ length: 404 }, (_, i) => `t${i}`);
  const long = sampleCapture({ kind: "encoder", source, layers: 1, heads: 1 });
  await show(browser, "last", long, "#view=lines&row=402");
  await expect(browser.locator(".lines path").first()).toBeAttached();
  await show(browser, "first", long, "#view=lines&row=2");
  await expect(browser.locator(".lines path")).toHaveCount(3);
});

test("arrow keys move between the tabs, and Enter selects one", async ({ page: browser }) => {
  await show(browser, "tabs", sampleCapture({ kind: "encoder" }), "#view=lines&head=encoder.0.0");
  const tab = (name: string) => browser.getByRole("tab", { name });
  const order = await browser.getByRole("tab").allTextContents();
  expect(order).toEqual(["Heat map", "Lines", "Compare", "Basics", "Common errors", "Table"]);
  // One stop of the Tab key: the selected tab.
  await expect(browser.locator('[role=tab][tabindex="0"]')).toHaveText("Lines");
  await tab("Lines").focus();
  await browser.keyboard.press("ArrowRight");
  await expect(tab("Compare")).toBeFocused();
  await expect(tab("Lines")).toHaveAttribute("aria-selected", "true");
  await browser.keyboard.press("Home");
  await browser.keyboard.press("ArrowLeft");
  await expect(tab("Table")).toBeFocused();
  await browser.keyboard.press("Enter");
  await expect(browser).toHaveURL(/head=encoder\.0\.0&view=table/);
  await expect(browser.locator('[role=tab][tabindex="0"]')).toHaveText("Table");
  await expect(tab("Table")).toBeFocused();
});

test("Play goes to the last step of the head that is shown", async ({ page: browser }) => {
  const capture = sampleCapture();
  sampleVectors(capture);
  await browser.clock.install();
  await show(browser, "play", capture, "#view=steps&head=cross.1.0");
  const trail = browser.locator(".trail button");
  const steps = await trail.count();
  await browser.getByRole("button", { name: "Play" }).click();
  await browser
    .locator(".grid")
    .getByRole("button", { name: "Decoder self-attention, layer 1, head 0" })
    .click();
  await expect(trail).toHaveCount(steps + 1); // the mask
  for (let i = 0; i < steps; ++i) await browser.clock.runFor(2500);
  await expect(trail.last()).toHaveAttribute("aria-current", "step");
  await browser.clock.runFor(2500);
  await expect(browser.getByRole("button", { name: "Play" })).toBeVisible();
});

test("a control keeps the focus after it changes the view", async ({ page: browser }) => {
  const capture = sampleCapture({ kind: "encoder", source: ["the", "fox", "and", "the", "dog"] });
  sampleVectors(capture);
  await show(browser, "focus", capture, "#view=layers&head=encoder.0.0");
  for (const [view, label] of [
    ["Inside a layer", "Token"],
    ["Neurons", "Query token"],
  ] as const) {
    await browser.getByRole("tab", { name: view }).click();
    await browser.getByLabel(label, { exact: true }).focus();
    await browser.getByLabel(label, { exact: true }).selectOption("2");
    await expect(browser).toHaveURL(/row=2/);
    await expect(browser.getByLabel(label, { exact: true })).toBeFocused();
    await expect(browser.getByLabel(label, { exact: true })).toHaveValue("2");
    await browser.getByLabel(label, { exact: true }).selectOption("1");
  }
  const writer = sampleCapture({ kind: "decoder", target: ["a", "the", "b", "the", "c"] });
  sampleSteps(writer);
  await show(browser, "focus-steps", writer, "#view=generation");
  await browser.locator(".generation button.token").nth(2).press("Enter"); // the second "the"
  await expect(browser).toHaveURL(/written=2/);
  await expect(browser.locator(".generation button.token").nth(2)).toBeFocused();
});

test("interventions are listed, and those without an effect are named", async ({ page: browser }) => {
  const capture = sampleCapture();
  capture.interventions = [
    { kind: "zero", at: "encoder.0.0", detail: "zero encoder.0.0 positions=99" },
    { kind: "scale", at: "cross.1", detail: "scale cross.1 by=2" },
  ];
  const message =
    "'zero encoder.0.0 positions=99' changed nothing: no input has tokens at the given positions";
  capture.warnings = [{ intervention: "zero encoder.0.0 positions=99", reason: "positions", message }];
  capture.translation = "der Fuchs";
  capture.translation_without_ablation = "ein Fuchs";
  await show(browser, "interventions", capture);
  const header = browser.locator("header");
  await expect(header).toContainText(
    "Interventions: zero encoder.0.0 positions=99; scale cross.1 by=2. Weights have 8 bits",
  );
  await expect(header.locator(".note")).toHaveText(`${message}.`);
  await expect(header).toContainText("Without these changes: ein Fuchs");
});
