import { describe, expect, test } from "vitest";
import {
  causallyMasked,
  isSymmetric,
  largestDifference,
  scaled,
  scores,
  softmaxRows,
  softmaxSteps,
  weightedSums,
  withoutColumns,
} from "../../src/math";

describe("softmax", () => {
  test("weights of a row sum to 1 and large scores do not overflow", () => {
    const { weights, maximum, sum } = softmaxSteps([1000, 1001, 999]);
    expect(maximum).toBe(1001);
    expect(sum).toBeCloseTo(1 + Math.exp(-1) + Math.exp(-2), 12);
    expect(weights.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
  });
  test("a row that may attend to nothing has weights 0", () => {
    expect(softmaxSteps([-Infinity, -Infinity]).weights).toEqual([0, 0]);
  });
});

describe("attention", () => {
  const query = [
    [1, 0],
    [0, 2],
  ];
  const key = [
    [1, 1],
    [3, 0],
  ];
  test("scores are dot products of queries and keys", () => {
    expect(scores(query, key)).toEqual([
      [1, 3],
      [2, 0],
    ]);
  });
  test("Q Kᵀ is symmetric if K = Q, and its softmax need not be", () => {
    const same = scores(key, key);
    expect(isSymmetric(same)).toBe(true);
    expect(isSymmetric(softmaxRows(same))).toBe(false);
    expect(isSymmetric(scores(query, key))).toBe(false);
  });
  test("the causal mask hides later keys and aligns at the end", () => {
    expect(causallyMasked([[1, 2, 3]])).toEqual([[1, 2, 3]]);
    expect(causallyMasked(scores(query, key))).toEqual([
      [1, -Infinity],
      [2, 0],
    ]);
  });
  test("outputs are means of the values, weighted", () => {
    const weights = [
      [0.25, 0.75],
      [1, 0],
    ];
    expect(weightedSums(weights, [[4], [8]])).toEqual([[7], [4]]);
  });
  test("scaling and differences", () => {
    expect(scaled([[2, 4]], 0.5)).toEqual([[1, 2]]);
    expect(largestDifference([[1, 2]], [[1, 2.5]])).toBe(0.5);
  });
  test("hidden columns give their weight to the others", () => {
    expect(withoutColumns([[0.5, 0.25, 0.25]], [true, false, false])).toEqual([[0, 0.5, 0.5]]);
    expect(withoutColumns([[1, 0]], [true, false])).toEqual([[0, 0]]);
  });
});
