import { expect, test } from "vitest";
import { driftOf } from "../../src/drift";
import { type States, statesOf } from "../../src/views/meaning";
import { packed32, sampleCapture, sampleVectors } from "../sample";

function states(size: number): States {
  const capture = sampleCapture();
  sampleVectors(capture, size);
  return statesOf(capture, "encoder")!;
}

test("the same text has the cosine 1 in every layer", () => {
  const lines = driftOf(states(8), states(8), [false, false, false, true]);
  expect(lines).toHaveLength(3);
  for (const { values } of lines as Exclude<typeof lines, string>)
    for (const value of values) expect(value).toBeCloseTo(1, 6);
});

test("vectors of models with different sizes are not compared", () => {
  expect(driftOf(states(8), states(6), [])).toContain("3 × 8 in one and 3 × 6 in the other");
});

test("words whose vectors are not finite are left out", () => {
  const broken = states(8);
  broken.states[1] = broken.states[1]!.map((row, i) => (i === 1 ? row.map(() => Infinity) : row));
  const lines = driftOf(broken, states(8), []);
  expect((lines as Exclude<typeof lines, string>).map(({ token }) => token)).not.toContain("quick");
});

test("states with another number of tokens are not shown", () => {
  const capture = sampleCapture();
  sampleVectors(capture);
  capture.activations!.find(({ name }) => name === "encoder.0.residual")!.values = packed32([[1, 2]]);
  expect(statesOf(capture, "encoder")).toBeUndefined();
});
