import { describe, expect, test } from "vitest";
import { readCapture } from "../../src/capture";
import { dot, largestDifference } from "../../src/math";
import { rowsOf } from "../../src/packed";
import { addParameters, agrees, applied, factorsOf, layerOutput, outputOf } from "../../src/projections";
import { Store } from "../../src/store";
import { joinedBody } from "../../src/views/projection";
import { packed16, sampleCapture, sampleParameters, sampleVectors } from "../sample";

function sample() {
  const capture = sampleCapture();
  sampleVectors(capture);
  sampleParameters(capture);
  return readCapture(JSON.parse(JSON.stringify(capture)));
}
const trained = { vectors: "trained", positions: true } as const;

describe("parameters", () => {
  test("16 bits are exact to 1/65534 of the row's largest value, with their sign", () => {
    const rows = [
      [0.5, -2, 1e-5],
      [0, 0, 0],
      [-7, 3.3, 0.1],
    ];
    const read = rowsOf(packed16(rows));
    rows.forEach((row, r) =>
      row.forEach((x, c) => expect(Math.abs(read[r]![c]! - x)).toBeLessThanOrEqual((r ? 7 : 2) / 60000)),
    );
  });

  test("X W + bias is the query, key and value of the head", () => {
    const capture = sample();
    const head = capture.attention[0]!;
    for (const part of ["query", "key", "value"] as const) {
      const computed = applied(factorsOf(capture, head, part, trained)!);
      expect(largestDifference(computed, rowsOf(head.values![part]))).toBeLessThan(1e-3);
      expect(agrees(computed, rowsOf(head.values![part]))).toBe(true);
    }
    const moved = applied(factorsOf(capture, head, "query", trained)!).map((row) => row.map((x) => x + 0.1));
    expect(agrees(moved, rowsOf(head.values!.query))).toBe(false);
    expect(factorsOf(capture, head, "query", { ...trained, vectors: "none" })).toBeUndefined();
    const random = factorsOf(capture, head, "query", { ...trained, vectors: "random" });
    expect(random?.weight.length).toBe(random?.input[0]?.length);
  });

  test("the heads' outputs times W_O are the layer's output", () => {
    const capture = sample();
    const head = capture.attention[0]!;
    const { heads, output, bias } = layerOutput(capture, head);
    expect(heads.length).toBe(3);
    output!.forEach((row, r) =>
      row.forEach((x, i) => {
        const parts = heads.map((each) =>
          dot(
            each.output![r]!,
            each.weight!.map((one) => one[i]!),
          ),
        );
        expect(parts.reduce((a, b) => a + b, bias![i]!)).toBeCloseTo(x, 3);
      }),
    );
  });

  test("a capture of some heads of a layer does not have the whole output", () => {
    const capture = sample();
    capture.drawing = {
      kind: "encoder-decoder",
      hidden: 8,
      vocabulary: 100,
      parameters: 1,
      input: "tokens",
      points: [{ name: "encoder.0.self.query", shape: [4, 24], heads: 3 }],
      weights: [],
    };
    const head = capture.attention[0]!;
    expect(layerOutput(capture, head).count).toBe(3);
    capture.attention = [head];
    expect(layerOutput(capture, head)).toMatchObject({ count: 3, heads: [{ head }] });
    const size = outputOf(head)![0]!.length;
    expect(joinedBody(new Store(capture), head, ["a"], 0)!.sentence).toContain(
      `The outputs of the 3 heads of a token stand one after another: a vector of ${3 * size} numbers.`,
    );
  });

  test("weights that the vectors do not explain are used as they are", () => {
    const capture = sample();
    const head = capture.attention[0]!;
    const one = rowsOf(head.values!.value);
    head.weights = rowsOf(head.weights!).map((row) => row.map((_, c) => (c === 1 ? 1 : 0)));
    expect(outputOf(head)).toEqual(one.map(() => one[1]));
  });

  test("parameters of another capture are added to the heads of the same name", () => {
    const [capture, more] = [sample(), sample()];
    for (const head of capture.attention) {
      delete head.parameters;
      delete head.values;
    }
    capture.activations = capture.activations!.slice(0, 1);
    more.attention = more.attention.slice(0, 1);
    addParameters(capture, more);
    expect(capture.attention[0]!.parameters).toEqual(more.attention[0]!.parameters);
    expect(capture.attention[1]!.parameters).toBeUndefined();
    expect(factorsOf(capture, capture.attention[0]!, "key", trained)).toBeDefined();
    expect(new Set(capture.activations.map(({ name }) => name)).size).toBe(capture.activations.length);
  });
});
