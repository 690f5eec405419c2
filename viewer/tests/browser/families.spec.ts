// The page's numbers equal transformers' attentions on the tiny models of every family: 1e-5 with --full, half a step
// of 8 bits (below 1/255) by default. W_Q, W_K, W_V and W_O equal those of the checkpoint.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { headKey } from "../../src/capture";
import type { Capture, Head } from "../../src/capture.gen";
import { rowsOf } from "../../src/packed";
import { Checkpoint } from "./checkpoint";
import { copyOf, folderOf, goldens, program, whisper } from "./model";
import { numbersOf, open, saved } from "./open";
import { type Tensor, tensorsOf } from "./tensors";

/** The ids [from, to) of a tensor's first sequence, as text for the tokenizer of folderOf(). */
function words(ids: Tensor, from = 0, to = ids.shape[1]!): string {
  return Array.from({ length: to - from }, (_, i) => `t${ids.at(from + i)}`).join(" ");
}

/** The number of tokens of the first text; tokens of the second text have type 1. */
function firstLength(ids: Tensor, types: Tensor | undefined): number {
  const length = ids.shape[1]!;
  const found = Array.from({ length }, (_, i) => types?.at(i) ?? 0).indexOf(1);
  return found < 0 ? length : found;
}

function goldenName(head: Head, both: boolean): string {
  if (!both) return `attentions.${head.layer}`;
  return `${head.kind}_attentions.${head.layer}`;
}

/** The largest difference between a head's weights and the first sequence of the golden. */
function difference(weights: readonly (readonly number[])[], golden: Tensor, head: number): number {
  const [, , rows, columns] = golden.shape as [number, number, number, number];
  expect([weights.length, weights[0]!.length]).toEqual([rows, columns]);
  let most = 0;
  weights.forEach((row, r) =>
    row.forEach((x, c) => {
      most = Math.max(most, Math.abs(x - golden.at((head * rows + r) * columns + c)));
    }),
  );
  return most;
}

const parts = ["query", "key", "value", "output"] as const;

/**
 * Expect the checkpoint's W_Q, W_K, W_V, W_O and biases in the heads of a capture: 1e-5 with `full`; by default 16
 * bits, half a step of the largest in a row. Return the number of heads that have them. The wrong rows are collected
 * and expected to be none, because a call of expect() for each of the thousands of rows takes most of a test's time.
 */
function expectParameters(capture: Capture, checkpoint: Checkpoint, full: boolean): number {
  const both = capture.drawing!.kind === "encoder-decoder";
  const heads = capture.attention.filter(({ parameters }) => parameters);
  const wrong: string[] = [];
  const check = (difference: number, bound: number, name: string) => {
    if (!(difference <= bound)) wrong.push(`${name}: ${difference} is above ${bound}`); // NaN is wrong, too
  };
  for (const head of heads) {
    const of = capture.attention.filter(({ kind, layer }) => kind === head.kind && layer === head.layer);
    for (const part of parts) {
      const name = `${head.kind}.${head.layer}.${head.head} ${part}`;
      const shown = head.parameters![part];
      const weight = rowsOf(shown.weight);
      const expected = checkpoint.projection(head, part, of.length, both);
      expect([weight.length, weight[0]!.length], name).toEqual([
        expected.weight.length,
        expected.weight[0]!.length,
      ]);
      expected.weight.forEach((row, r) => {
        const bound = full ? 1e-5 : Math.max(...row.map(Math.abs)) / 65534 + 1e-7;
        const most = Math.max(...row.map((x, c) => Math.abs(x - weight[r]![c]!)));
        check(most, bound, `${name}, row ${r}`);
      });
      // Whisper's keys have no bias; a capture may hold zeros for it.
      const size = part === "output" ? expected.weight[0]!.length : weight[0]!.length;
      for (let i = 0; i < size; ++i)
        check(Math.abs((expected.bias?.[i] ?? 0) - (shown.bias?.[i] ?? 0)), 1e-5, `${name}, bias ${i}`);
    }
  }
  expect(wrong).toEqual([]);
  return heads.length;
}

/** Expect the golden's numbers in the page's JSON and CSV exports, in both precisions. */
async function expectEqual(
  browser: Page,
  folder: string,
  words: readonly string[],
  tensor: (name: string) => Tensor | undefined,
): Promise<void> {
  const both = tensor("cross_attentions.0") !== undefined;
  const checkpoint = new Checkpoint(folder);
  for (const [options, bound] of [
    [["--full"], 1e-5],
    [[], 1 / 255],
  ] as const) {
    const page = join(folder, "page.html");
    execFileSync(program, ["attend", folder, ...words, "--html", page, "-q", ...options]);
    const errors = await open(browser, page);
    expect(errors).toEqual([]);
    const capture = JSON.parse(await saved(browser, "json")) as Capture;
    for (const head of capture.attention)
      expect(
        difference(rowsOf(head.weights!), tensor(goldenName(head, both))!, head.head!),
        `${head.kind}.${head.layer}.${head.head}`,
      ).toBeLessThanOrEqual(bound);
    const known = expectParameters(capture, checkpoint, options.length > 0);
    const longest = Math.max(...Object.values(capture.tokens).map((side) => side.text.length));
    if (longest <= 64) expect(known, "heads with parameters").toBe(capture.attention.length);
    const last = capture.attention.at(-1)!;
    // Select it in the shown page, because loading the page takes most of the time.
    await browser.evaluate((address) => (location.hash = address), `#head=${headKey(last)}`);
    await expect(browser.locator(".grid button").last()).toHaveAttribute("aria-pressed", "true");
    expect(
      difference(numbersOf(await saved(browser, "csv")), tensor(goldenName(last, both))!, last.head!),
    ).toBeLessThanOrEqual(bound);
    await expect(browser.locator("header")).toContainText(options.length > 0 ? "exact (f32)" : "8 bits");
    expect(errors).toEqual([]);
  }
}

for (const name of readdirSync(goldens).filter((each) =>
  existsSync(join(goldens, each, "golden.safetensors")),
)) {
  const tensor = tensorsOf(join(goldens, name, "golden.safetensors"));
  const ids = tensor("input_ids");
  const both = tensor("cross_attentions.0") !== undefined;
  if (!ids || !(both || tensor("attentions.0"))) continue; // pictures and sounds are tested below
  test(`${name}: numbers equal transformers'`, async ({ page: browser }) => {
    const target = tensor("decoder_input_ids");
    const first = firstLength(ids, tensor("token_type_ids"));
    const more = first < ids.shape[1]! ? ["--pair", words(ids, first)] : [];
    if (target) more.push("--target", words(target, 1));
    await expectEqual(browser, folderOf(name), [words(ids, 0, first), ...more], tensor);
  });
}

// tools/make_page_goldens.py writes the pictures, the sounds and their goldens.
const media = "../tests/data/page";
for (const file of readdirSync(media).filter((each) => each.endsWith(".safetensors"))) {
  const name = file.replace(".safetensors", "");
  const tensor = tensorsOf(join(media, file));
  test(`${name}: numbers equal transformers' over a file`, async ({ page: browser }) => {
    const folder = name === "whisper-small" ? copyOf(whisper) : folderOf(name);
    const settings = join(media, `${name}.preprocessor_config.json`);
    if (existsSync(settings)) copyFileSync(settings, join(folder, "preprocessor_config.json"));
    const input = /wav2vec2/.test(name)
      ? join(media, "tiny.wav")
      : /ast|whisper/.test(name)
        ? join(whisper, "short.wav")
        : join(media, "picture.png");
    const target = name === "whisper-small" ? "the fox" : "t5 t9 t7";
    await expectEqual(browser, folder, [input, ...(tensor("written") ? ["--target", target] : [])], tensor);
  });
}
