import { describe, expect, test } from "vitest";
import {
  type Capture,
  CaptureError,
  columnTokens,
  firstHead,
  headKey,
  readCapture,
  rowTokens,
} from "../../src/capture";

function capture(): Capture {
  return {
    model: "m",
    text: "a b",
    source_tokens: ["a", "b"],
    target_tokens: ["<s>", "x"],
    written_tokens: ["x", "</s>"],
    ablated: [],
    attention: [
      {
        kind: "encoder",
        layer: 0,
        head: 0,
        weights: [
          [1, 0],
          [0, 1],
        ],
        telling: 0.2,
      },
      {
        kind: "cross",
        layer: 0,
        head: 1,
        weights: [
          [0.5, 0.5],
          [0, 1],
        ],
        telling: 1.4,
      },
      {
        kind: "decoder",
        layer: 0,
        head: 0,
        weights: [
          [1, 0],
          [0, 1],
        ],
        telling: 0.1,
      },
    ],
  };
}

describe("readCapture", () => {
  test("labels rows of cross-attention with the tokens that they generated", () => {
    const read = readCapture(capture());
    const cross = read.attention[1]!;
    expect(rowTokens(read, cross)).toEqual(["x", "</s>"]);
    expect(columnTokens(read, cross)).toEqual(["a", "b"]);
    expect(rowTokens(read, read.attention[2]!)).toEqual(["<s>", "x"]);
  });
  test("opens on the most telling head", () => {
    expect(headKey(firstHead(readCapture(capture())))).toBe("cross.0.1");
  });
  test("refuses what it cannot show", () => {
    expect(() => readCapture(null)).toThrow(CaptureError);
    expect(() => readCapture({ ...capture(), attention: [] })).toThrow("no attention");
    expect(() => readCapture({ ...capture(), version: 2 })).toThrow("version 1");
    expect(() => readCapture({ ...capture(), source_tokens: ["a"] })).toThrow("expected 1 × 1");
  });
});
