// Models of sound: the spectrogram with the attention over it, in files and live.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, type Page, test } from "@playwright/test";
import { headKey } from "../../src/capture";
import type { Capture } from "../../src/capture.gen";
import { heard, peak } from "../../src/sound";
import { rowsOf } from "../../src/packed";
import { violations } from "./axe";
import { copyOf, folderOf, program, whisper } from "./model";
import { open, pageWith, saved, visitModelOfFiles, windows } from "./open";
import { serve } from "./server";

const short = join(whisper, "short.wav");
const tiny = "../tests/data/page/tiny.wav";

function written(folder: string, sound: string, ...more: string[]): string {
  const page = join(folder, "page.html");
  execFileSync(program, ["attend", folder, sound, "--html", page, "-q", ...more]);
  return page;
}

async function expectFitting(browser: Page): Promise<Capture> {
  const capture = JSON.parse(await saved(browser, "json")) as Capture;
  const schema = JSON.parse(readFileSync("../docs/capture.schema.json", "utf8")) as object;
  const fits = new Ajv2020().compile(schema);
  expect(fits(capture), JSON.stringify(fits.errors)).toBe(true);
  return capture;
}

for (const [width, colorScheme] of windows)
  test(`a transcript: every view opens without violations at ${width} pixels, ${colorScheme}`, async ({
    page: browser,
  }) => {
    await browser.setViewportSize({ width, height: 900 });
    await browser.emulateMedia({ colorScheme });
    expect(await open(browser, written(copyOf(whisper), short, "--generate", "8"))).toEqual([]);
    await expect(browser.getByRole("tab", { name: "Sound" })).toHaveAttribute("aria-selected", "true");
    for (const view of await browser.getByRole("tab").allTextContents()) {
      await browser.getByRole("tab", { name: view, exact: true }).click();
      expect(await violations(browser, "#view"), view).toEqual([]);
      const overflow = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, view).toBeLessThanOrEqual(0);
    }
  });

test("the candidates of a step are shown as what they stand for", async ({ page: browser }) => {
  await open(browser, written(copyOf(whisper), short, "--generate", "8"), "#view=generation");
  const capture = await expectFitting(browser);
  const at = capture.steps!.findIndex(({ bytes }) => bytes?.slice(0, 12).some((each) => each !== ""));
  expect(at, "a step with a part of a character").toBeGreaterThanOrEqual(0);
  await browser.getByLabel("Step", { exact: true }).fill(String(at));
  const { bytes } = capture.steps![at]!;
  const names = await browser.locator(".generation .bars bdi").allTextContents();
  names.forEach((name, i) => {
    if (bytes![i]) expect(name).toBe(`‹${bytes![i].toUpperCase().match(/../g)!.join(" ")}›`);
    else expect(name).not.toMatch(/^▁/);
  });
});

test("each word of a transcript has its attention over the sound", async ({ page: browser }) => {
  await open(browser, written(copyOf(whisper), short, "--target", "the fox"));
  const capture = await expectFitting(browser);
  expect(capture.sound!.seconds).toBeCloseTo(1.4, 2);
  expect(capture.sound!.time_step).toBeCloseTo(0.02, 6);
  const side = capture.tokens.written!;
  const words = side.text.filter((_, i) => !side.special![i]);
  await expect(browser.locator(".sound-rows .heard")).toHaveCount(words.length);
  const last = side.special!.lastIndexOf(false);
  const shown = new URL(browser.url()).hash;
  expect(shown).not.toContain("head=encoder");
  const head =
    capture.attention.find((each) => headKey(each) === (/head=([^&]*)/.exec(shown)?.[1] ?? "")) ??
    capture.attention
      .filter((each) => each.kind === "cross")
      .reduce((a, b) => (b.telling > a.telling ? b : a));
  const weights = rowsOf(head.weights!)[last]!;
  const { time } = peak(capture, weights);
  await browser.locator(".sound-rows button.plain").last().click();
  await expect(browser.getByText(`is at ${time.toFixed(2)} s`)).toBeVisible();
  const { bands, after, specials } = heard(capture, weights);
  const total = bands.flat().reduce((sum, x) => sum + x, 0) + after + specials;
  expect(total).toBeCloseTo(
    weights.reduce((sum, x) => sum + x, 0),
    6,
  );
});

test("a classifier of sounds shows patches, a CTC model frames", async ({ page: browser }) => {
  await open(browser, written(folderOf("ast"), short));
  const ast = await expectFitting(browser);
  expect(ast.sound!.specials).toBe(2);
  expect(ast.drawing!.patches).toMatchObject({ rows: 4, columns: 10 });
  await expect(browser.getByText("Special tokens have")).toBeVisible();
  await expect(browser.getByRole("tab", { name: "Picture" })).toHaveCount(0);
  await open(browser, written(folderOf("wav2vec2"), tiny));
  const ctc = await expectFitting(browser);
  expect(ctc.tokens.source!.text).toHaveLength(74);
  await expect(browser.getByText("mean over all positions")).toBeVisible();
  const field = browser.locator(".spectrogram");
  await field.click({ position: { x: 20, y: 20 } });
  await expect(browser.getByText("mean over all positions")).toHaveCount(0);
  await expect(browser).toHaveURL(/row=\d/);
  await browser.getByRole("button", { name: "Mean over all" }).click();
  await expect(browser.getByText("mean over all positions")).toBeVisible();
});

test("a head without weights shows what each time receives", async ({ page: browser }) => {
  const folder = folderOf("ast");
  const capture = JSON.parse(
    execFileSync(program, ["attend", folder, short, "--json", "-q"], { maxBuffer: 1 << 28 }).toString(),
  ) as Capture;
  const head = capture.attention[0]!;
  const all = rowsOf(head.weights!);
  const mean = all[0]!.map((_, c) => all.reduce((sum, row) => sum + row[c]!, 0) / all.length);
  head.received = [mean, [...all[0]!], [...all[1]!]];
  delete head.weights;
  const page = join(folder, "received.html");
  const { writeFileSync } = await import("node:fs");
  writeFileSync(page, pageWith(capture));
  await open(browser, page, `#head=${headKey(head)}`);
  const { time } = peak(capture, mean);
  await expect(browser.getByText(`is at ${time.toFixed(2)} s`)).toBeVisible();
});

test("live: a sound file is chosen, and a head switched off", async ({ page: browser }) => {
  const server = await serve({ whisper: copyOf(whisper), ast: folderOf("ast"), text: folderOf("bart") });
  try {
    await visitModelOfFiles(browser, server.url, "whisper");
    await browser.getByLabel("Sound file").setInputFiles(short);
    await expect(browser.locator(".spectrogram")).toBeVisible();
    const capture = JSON.parse(await saved(browser, "json")) as Capture;
    expect(capture.text).toBe("short.wav");
    // The numbers are those of the program.
    const expected = JSON.parse(
      execFileSync(program, ["attend", whisper, short, "--json", "-q"], { maxBuffer: 1 << 28 }).toString(),
    ) as Capture;
    expect(capture.translation).toBe(expected.translation);
    expect(capture.attention.map((head) => head.weights)).toEqual(
      expected.attention.map((head) => head.weights),
    );
    await browser.getByRole("tab", { name: "What if" }).click();
    await browser.getByRole("button", { name: "Switch off Cross-attention, layer 0, head 1" }).click();
    await expect(browser.getByRole("heading", { name: "After", exact: true })).toBeVisible();
    await browser.getByLabel("Sound file").setInputFiles("package.json");
    await expect(browser.getByRole("alert")).toContainText("cannot be read");
    await browser.getByLabel("Model", { exact: true }).selectOption("ast");
    await browser.getByLabel("Sound file").setInputFiles(short);
    await expect(browser.getByText("Special tokens have")).toBeVisible();
    expect(await violations(browser)).toEqual([]);
  } finally {
    await server.stop();
  }
});
