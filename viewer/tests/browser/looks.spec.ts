// Key views compared with committed pictures: at most 2 % of the pixels may differ. To update
// them, run `npx playwright test looks --update-snapshots`; then look at them.
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import type { Capture } from "../../src/capture.gen";
import { sampleCapture, sampleParameters, sampleSteps, sampleVectors } from "../sample";
import { open, pageWith, windows } from "./open";

const folder = mkdtempSync(join(tmpdir(), "looks-"));

/** A capture of a translation with data for all key views. */
function story(): Capture {
  const capture = sampleCapture({
    source: ["The", "exam", "was", "a", "piece", "of", "cake", "</s>"],
    target: ["<s>", "परीक्षा", "एक", "सरल", "काम", "थी"],
  });
  capture.translation = "परीक्षा एक सरल काम थी";
  sampleSteps(capture);
  sampleVectors(capture);
  sampleParameters(capture);
  const other = sampleCapture({
    source: ["He", "ate", "a", "piece", "of", "cake", "</s>"],
    target: ["<s>", "उसने", "केक", "का", "टुकड़ा", "खाया"],
  });
  other.text = "He ate a piece of cake";
  other.translation = "उसने केक का टुकड़ा खाया";
  sampleVectors(other);
  capture.compared = other;
  capture.what_if = [
    {
      off: "cross.1.2",
      translation: "परीक्षा एक केक थी",
      lost: 0.4,
      steps: capture.steps!.map((step) => ({
        ...step,
        logits: step.logits.map((x, i) => x - (i === 0 ? 1 : -0.4)),
      })),
      changes: [{ head: "decoder.1.0", change: 0.2, weights: capture.attention.at(-1)!.weights! }],
    },
  ];
  return capture;
}

const views: [name: string, fragment: string][] = [
  ["map", "#view=map&row=3&column=4"],
  ["lines", "#view=lines"],
  ["steps", "#view=steps&step=3&head=encoder.0.0"],
  ["product", "#view=steps&step=1&head=encoder.0.0&row=2&feature=3"],
  ["generation", "#view=generation&written=2"],
  ["whatif", "#view=whatif&off=cross.1.2"],
  ["compare", "#view=compare"],
  ["basics", "#view=basics"],
];

for (const [width, colorScheme] of windows)
  for (const [name, fragment] of views)
    test(`${name} looks as before at ${width} pixels, ${colorScheme}`, async ({ page: browser }) => {
      const file = join(folder, `${name}.html`);
      writeFileSync(file, pageWith(story()));
      await browser.setViewportSize({ width, height: width < 500 ? 844 : 800 });
      await browser.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      expect(await open(browser, file, fragment)).toEqual([]);
      await expect(browser).toHaveScreenshot(`${name}-${width}-${colorScheme}.png`, {
        maxDiffPixelRatio: 0.02,
        animations: "disabled",
        scale: "css",
      });
    });
