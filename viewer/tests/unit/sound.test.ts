import { describe, expect, test } from "vitest";
import { heard, peak, profile, queriesOf, ticks } from "../../src/sound";
import { sampleCapture } from "../sample";

/** 1.0 s of sound, positions every 0.25 s up to 1.5 s. */
function sound() {
  const capture = sampleCapture({ source: ["a", "b", "c", "d", "e", "f"], target: ["<s>", "x"] });
  const spectrogram = capture.attention[0]!.thumbnail;
  capture.sound = { seconds: 1, first_time: 0, time_step: 0.25, specials: 0, spectrogram };
  return capture;
}

describe("sound", () => {
  test("weights are arranged by time; those after the end are summed", () => {
    const capture = sound();
    const one = heard(capture, [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]);
    expect(one.bands).toEqual([[0.1, 0.2, 0.3, 0.1]]);
    expect(one.after).toBeCloseTo(0.3, 12);
    expect(peak(capture, [0.1, 0.2, 0.3, 0.1, 0.2, 0.1])).toEqual({ time: 0.5, weight: 0.3 });
  });
  test("patches lie in bands after the special tokens", () => {
    const capture = sound();
    capture.sound!.specials = 2;
    capture.sound!.first_time = 0.125;
    capture.drawing = {
      kind: "encoder",
      hidden: 8,
      vocabulary: 0,
      parameters: 1,
      input: "features",
      patches: { rows: 2, columns: 4, specials: 2 },
      points: [],
      weights: [],
    };
    const one = heard(capture, [0.5, 0.1, 0, 0.1, 0, 0, 0, 0.2, 0, 0.1]);
    expect(one.bands).toEqual([
      [0, 0.1, 0, 0],
      [0, 0.2, 0, 0.1],
    ]);
    expect(one.specials).toBeCloseTo(0.6, 12);
    expect(profile(one)[1]).toBeCloseTo(0.3, 12);
  });
  test("a head has its words, its positions, or what they receive, as queries", () => {
    const capture = sound();
    const [encoder, decoder, cross] = (["encoder", "decoder", "cross"] as const).map((kind) =>
      capture.attention.find((head) => head.kind === kind)!,
    );
    expect(queriesOf(decoder!, ["<s>", "x"])).toEqual([]);
    expect(queriesOf(cross!, ["x", "</s>"]).map(({ name, row }) => [name, row])).toEqual([
      ["x", 0],
      ["</s>", 1],
    ]);
    const all = queriesOf(encoder!, ["a", "b", "c", "d", "e", "f"]);
    expect(all[0]!.row).toBe(-1);
    expect(all[0]!.weights.reduce((sum, x) => sum + x, 0)).toBeCloseTo(1, 2);
    delete encoder!.weights;
    expect(queriesOf(encoder!, ["a"])).toEqual([]);
    encoder!.received = [[0, 1, 0, 0, 0, 0]];
    expect(queriesOf(encoder!, ["a"])).toEqual([
      { name: "mean over all positions", row: -1, weights: [0, 1, 0, 0, 0, 0] },
    ]);
  });
  test("an axis has few round times", () => {
    expect(ticks(1)).toHaveLength(6);
    expect(ticks(30)).toEqual([0, 5, 10, 15, 20, 25, 30]);
  });
});
