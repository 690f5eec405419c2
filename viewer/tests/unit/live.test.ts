import { describe, expect, test } from "vitest";
import { bodyOf, secondsOf } from "../../src/live/protocol";
import { Live, questionIn } from "../../src/live/live";
import { forcedQuestion } from "../../src/live/forced";
import { chapterAddress, chapterIn, chapters } from "../../src/live/story";
import { directionOf } from "../../src/tokens";
import { aligned, meanTotalVariation } from "../../src/math";
import { lostBetween, outcomeOf, writtenOutcome } from "../../src/outcome";
import { captureInFile } from "../../src/views/compare";
import { patchIntervention, quoted } from "../../src/views/patch";
import { unknownTokens } from "../../src/views/reading";
import { packed, sampleCapture } from "../sample";

describe("questions", () => {
  test("leave out what is empty", () => {
    expect(bodyOf({ model: "", text: "a", off: [], interventions: [] })).toEqual({ text: "a" });
    expect(bodyOf({ model: "m", text: "a", off: ["cross.1.0", "encoder.0.2"], page: true })).toEqual({
      model: "m",
      text: "a",
      ablate: "cross.1.0,encoder.0.2",
      page: true,
      values: true,
    });
  });
  test("are part of the address", () => {
    expect(questionIn("#head=cross.1.0")).toBeUndefined();
    const parts = new URLSearchParams({ text: "a & b = c", model: "x", generate: "7" });
    expect(questionIn(`#${parts.toString()}`)).toMatchObject({ text: "a & b = c", model: "x", generate: 7 });
  });
  test("differ if another number of tokens is to be generated", () => {
    const live = new Live({ model: "", text: "a", page: true, generate: 5 });
    expect(live.shows("#text=a&generate=5&view=map")).toBe(true);
    expect(live.shows("#view=map")).toBe(true);
    expect(live.shows("#text=a&generate=50")).toBe(false);
    expect(live.shows("#text=a")).toBe(false);
  });
  test("force the tokens that the whole model wrote", () => {
    const translated = { ...sampleCapture(), translation: "der Fuchs" };
    translated.tokens.written!.ids = [5, 6, 2];
    expect(forcedQuestion(translated)).toEqual({ written: [5, 6, 2], generate: 0 });
    expect(forcedQuestion(sampleCapture({ kind: "encoder" }))).toEqual({ generate: 0 });
    const continued = {
      ...sampleCapture({ kind: "decoder" }),
      text: "a",
      translation: " b c",
      prompt_tokens: 2,
    };
    continued.tokens.target!.ids = [7, 8, 9, 10];
    expect(forcedQuestion(continued)).toEqual({ written: [9, 10], generate: 0 });
  });
});

describe("the header Retry-After", () => {
  test("is a number of seconds; a date is not waited for", () => {
    expect(["7", " 2 ", null, "", "Wed, 21 Oct 2026 07:28:00 GMT"].map(secondsOf)).toEqual([7, 2, 0, 0, 0]);
  });
});

describe("outcomes", () => {
  const step = (logit: number) => ({
    ids: [1],
    text: ["x"],
    logits: [logit],
    log_sum_exp: 0,
    written_logit: logit,
  });
  const before = { ...sampleCapture(), steps: [step(-1), step(-2), step(-3)] };
  test("lose the difference of log-probabilities", () => {
    const after = { ...before, steps: [step(-2), step(-2), step(-6)] };
    expect(lostBetween(before, after)).toBeCloseTo(4 / 3, 12);
    const other = { ...after, tokens: { ...after.tokens, source: { text: ["a", "b", "c", "d"] } } };
    expect(lostBetween(before, other)).toBeUndefined();
  });
  test("list heads by how much their weights change", () => {
    const forced = structuredClone(before);
    const changed = forced.attention.find(
      ({ kind, layer, head }) => kind === "cross" && layer === 1 && head === 2,
    )!;
    changed.weights = packed([
      [1, 0, 0, 0],
      [1, 0, 0, 0],
      [1, 0, 0, 0],
    ]);
    const { changes, translation } = outcomeOf(before, forced, "neu");
    expect(translation).toBe("neu");
    expect(changes[0]!.head).toBe("cross.1.2");
    expect(changes[0]!.change).toBeGreaterThan(0.3);
    expect(changes[1]!.change).toBe(0);
  });
  test("are read from a written capture", () => {
    const capture = {
      ...before,
      what_if: [
        { off: "cross.1.2", translation: "t", lost: 0.5, changes: [{ head: "cross.1.1", change: 0.25 }] },
      ],
    };
    expect(writtenOutcome(capture, "cross.0.0")).toBeUndefined();
    expect(writtenOutcome(capture, "cross.1.2")).toMatchObject({ translation: "t", lost: 0.5 });
  });
});

test("meanTotalVariation is 0 for equal rows and 1 for disjoint ones", () => {
  expect(meanTotalVariation([[0.5, 0.5]], [[0.5, 0.5]])).toBe(0);
  expect(
    meanTotalVariation(
      [
        [1, 0],
        [0, 1],
      ],
      [
        [0, 1],
        [0, 1],
      ],
    ),
  ).toBe(0.5);
});

test("aligned pairs the longest common subsequence", () => {
  const [a, b] = ["The exam was a piece of cake .".split(" "), "He ate a piece of cake .".split(" ")];
  expect(aligned(a, b)).toEqual([
    [3, 2],
    [4, 3],
    [5, 4],
    [6, 5],
    [7, 6],
  ]);
  expect(aligned([], ["a"])).toEqual([]);
});

test("texts of interventions are quoted", () => {
  expect(quoted('say "a\\b"')).toBe('"say \\"a\\\\b\\""');
  expect(patchIntervention("encoder", { layer: -1, token: 2 }, "b")).toBe(
    'patch encoder.embedding text="b" positions=2',
  );
  expect(patchIntervention("encoder", { layer: 1, token: 0 }, "b")).toBe(
    'patch encoder.1.residual text="b" positions=0',
  );
});

test("unknown tokens are found", () => {
  expect(unknownTokens({ text: ["<unk>", "[UNK]", "unk", "a"] })).toEqual([true, true, false, false]);
  expect(unknownTokens({ text: ["<unk>"], special: [false] })).toEqual([false]);
});

test("a second capture is read from JSON and from a page", () => {
  const capture = sampleCapture();
  const json = JSON.stringify(capture);
  expect(captureInFile(json)).toEqual(capture);
  const page = `<p></p><script type="application/json" id="data">${json.replaceAll("<", "\\u003c")}</script><p></p>`;
  expect(captureInFile(page)).toEqual(capture);
  expect(() => captureInFile("{}")).toThrow("version 2");
});

test("each chapter of the story has an address that leads back to it", () => {
  chapters.forEach((chapter, index) => {
    const address = `#${chapterAddress(index + 1, "demo", undefined)}`;
    expect(questionIn(address)).toMatchObject({ text: chapter.text, model: "demo" });
    expect(chapterIn(address)).toBe(index + 1);
  });
  expect(chapterIn("#story=0")).toBe(0);
  expect(chapterIn("#story=99")).toBe(0);
  // The address contains the step that generates the word of chapter 2.
  const capture = sampleCapture({ target: ["<s>", "परीक्षा", "एक", "सरल", "काम"] });
  capture.text = chapters[1]!.text;
  expect(chapterAddress(2, "", capture)).toContain("written=2");
});

test("tokens have the direction of their first letter", () => {
  expect(directionOf(["،", "السلام", "a"])).toBe("rtl");
  expect(directionOf(["<s>", "परीक्षा"])).toBe("ltr");
  expect(directionOf(["1", "…"])).toBe("ltr");
});
