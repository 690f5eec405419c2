// Captures of other shapes: kinds of models, writing systems, long texts, pictures.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import type { Capture } from "../../src/capture.gen";
import { rowsOf } from "../../src/packed";
import { sampleCapture } from "../sample";
import { violations } from "./axe";
import { open, pageWith } from "./open";

const folder = mkdtempSync(join(tmpdir(), "shapes-"));

async function show(browser: Page, name: string, capture: Capture, fragment = ""): Promise<void> {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, pageWith(capture));
  expect(await open(browser, file, fragment)).toEqual([]);
}

// PNG with one red pixel.
const onePixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

const scripts: Record<string, string[]> = {
  devanagari: ["परीक्षा", "सरल", "काम", "क्षत्रिय", "है"],
  arabic: ["السلام", "عليكم", "يا", "صديقي"],
  emoji: ["👩‍👩‍👧", "🇮🇳", "❤️", "e\u0301", "𝒳"],
  long: ["Donaudampfschifffahrtsgesellschaftskapitän", "a", "Rindfleischetikettierungsüberwachung"],
};

for (const [name, tokens] of Object.entries(scripts))
  test(`${name}: tokens stand in every view at 390 pixels`, async ({ page: browser }) => {
    await browser.setViewportSize({ width: 390, height: 844 });
    await show(browser, name, sampleCapture({ kind: "encoder", source: tokens }));
    for (const view of ["Lines", "Table"]) {
      await browser.getByRole("tab", { name: view }).click();
      const text = await browser.locator("#view").textContent();
      for (const token of tokens)
        expect(text).toContain(view === "Table" ? token : [...token].slice(0, 3).join(""));
      expect(
        await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
    }
    const direction = await browser.locator("h1").evaluate((node) => getComputedStyle(node).direction);
    expect(direction).toBe(name === "arabic" ? "rtl" : "ltr");
  });

for (const kind of ["encoder", "decoder", "encoder-decoder"] as const)
  test(`${kind}: opens without violations`, async ({ page: browser }) => {
    await show(browser, kind, sampleCapture({ kind }));
    expect(await violations(browser)).toEqual([]);
    const titles = await browser.locator(".kinds h3").allTextContents();
    expect(titles).toHaveLength(kind === "encoder-decoder" ? 3 : 1);
  });

test("a model of pictures shows attention over its patches", async ({ page: browser }) => {
  const tokens = ["[CLS]", ...Array.from({ length: 12 }, (_, i) => `${Math.floor(i / 4)},${i % 4}`)];
  const capture = sampleCapture({ kind: "encoder", source: tokens });
  capture.drawing = {
    kind: "encoder",
    hidden: 8,
    vocabulary: 0,
    parameters: 1000,
    input: "pixels",
    patches: { rows: 3, columns: 4, specials: 1 },
    points: [{ name: "encoder.embedding", shape: [13, 8] }],
    weights: [],
  };
  capture.picture = { width: 1, height: 1, png: onePixel };
  await show(browser, "picture", capture, "#view=picture");
  const shown = browser.locator("#view image");
  expect(await shown.evaluate((node: SVGImageElement) => node.getBBox().width)).toBeGreaterThan(100);
  // The patch with the largest weight is not darkened.
  const weights = rowsOf(capture.attention.find((head) => head.head === 2 && head.layer === 1)!.weights!)[0]!;
  const best = weights.slice(1).indexOf(Math.max(...weights.slice(1)));
  await expect(browser.locator(".patch").nth(best)).toHaveAttribute("fill-opacity", "0.000");
  await expect(browser.locator(".patch")).toHaveCount(12);
  const caption = sampleCapture({ source: tokens, target: ["<s>", "a", "cat"] });
  caption.drawing = { ...capture.drawing, kind: "encoder-decoder" };
  caption.picture = capture.picture;
  await show(browser, "caption", caption, "#view=picture&head=cross.1.2&row=1");
  await expect(browser.getByLabel("Query").locator("option")).toHaveText(["a", "cat", "</s>"]);
  await expect(browser.locator(".patch.shade")).toHaveCount(12);
  await show(browser, "picture", capture, "#view=picture");
  await browser.locator("summary").click();
  await expect(browser.locator(".drawing")).toContainText("3 × 4 patches");
  expect(await violations(browser)).toEqual([]);
});

test("a head without weights is shown as a thumbnail, with the reason, and not saved", async ({
  page: browser,
}) => {
  await show(browser, "thumbnail", sampleCapture({ withWeights: 2 }), "#head=encoder.1.1");
  await expect(browser.getByText("a thumbnail of this head only")).toBeVisible();
  await expect(browser.locator(".missing canvas")).toBeVisible();
  const options = browser.getByLabel("Save as").locator("option");
  await expect(options).toHaveText([
    "Save…",
    "SVG (no weights)",
    "PNG (no weights)",
    "CSV (no weights)",
    "JSON",
  ]);
  await expect(options.and(browser.locator(":disabled"))).toHaveCount(3);
  await expect(browser.getByLabel("Save as")).toHaveAttribute("title", /a thumbnail of this head only/);
  await browser.getByRole("button", { name: /^Encoder self-attention, layer 0, head 1\b/ }).click();
  await expect(options).toHaveText(["Save…", "SVG", "PNG", "CSV", "JSON"]);
  await expect(options.and(browser.locator(":disabled"))).toHaveCount(0);
});

test("a long text opens with visible weights in the map and the line view", async ({ page: browser }) => {
  const source = Array.from({ length: 100 }, (_, i) => `token${i}`);
  await show(browser, "visible", sampleCapture({ kind: "encoder", source }), "#head=encoder.0.0");
  await expect(browser.getByLabel("scale to the largest weight")).toBeChecked();
  await browser.getByRole("tab", { name: "Lines" }).click();
  await expect(browser.locator(".lines path")).toHaveCount(300);
  await browser.getByRole("tab", { name: "Heat map" }).click();
  await browser.getByLabel("scale to the largest weight").uncheck();
  await expect(browser).toHaveURL(/largest=0/);
  await browser.reload();
  await expect(browser.getByLabel("scale to the largest weight")).not.toBeChecked();
});
