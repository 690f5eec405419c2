import { describe, expect, test } from "vitest";
import {
  causallyMasked,
  cosine,
  dot,
  isSymmetric,
  largestDifference,
  largestOf,
  layerNorm,
  matched,
  nextTokenProbabilities,
  normals,
  principalPlane,
  rankCorrelation,
  sinkColumns,
  sinusoids,
  softmaxGradient,
  sumsOver,
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

describe("the largest element", () => {
  test("is found in matrices of more elements than a call can have arguments", () => {
    const row = (value: number) => new Array<number>(400).fill(value);
    const large = Array.from({ length: 400 }, (_, r) => row(r / 1000));
    expect(largestOf(large, [row(-0.5)])).toBe(0.5);
    expect(largestOf([])).toBe(1e-12);
  });
});

describe("columns", () => {
  const weights = [
    [0.8, 0.1, 0.1],
    [0.9, 0.05, 0.05],
  ];
  test("a sink takes most of all attention", () => {
    // a sink needs three times the uniform weight, which is 1 with three keys
    expect(sinkColumns(weights)).toEqual([false, false, false]);

    const wide = [0, 1].map(() => [0.6, ...Array.from({ length: 8 }, () => 0.05)]);
    expect(sinkColumns(wide)).toEqual([true, ...Array.from({ length: 8 }, () => false)]);
  });
  test("sums over chosen columns", () => {
    expect(sumsOver(weights, [1, 2])[0]).toBeCloseTo(0.2, 12);
    expect(sumsOver(weights, [])).toEqual([0, 0]);
  });
});

describe("next token", () => {
  const logits = [2, 1, 0, -1];
  // the vocabulary has one more token, with logit −2, that is not listed
  const all = Math.log(logits.reduce((sum, x) => sum + Math.exp(x), 0) + Math.exp(-2));
  const none = { temperature: 1, topK: 0, topP: 1 };
  test("without filters the probabilities are those of the vocabulary", () => {
    const found = nextTokenProbabilities(logits, all, none);
    expect(found[0]).toBeCloseTo(Math.exp(2 - all), 12);
    expect(found.reduce((a, b) => a + b)).toBeLessThan(1);
  });
  test("top-k keeps k tokens, top-p the smallest set that reaches p", () => {
    const two = nextTokenProbabilities(logits, all, { ...none, topK: 2 });
    expect(two[0]! + two[1]!).toBeCloseTo(1, 12);
    expect(two.slice(2)).toEqual([0, 0]);
    expect(nextTokenProbabilities(logits, all, { ...none, topP: 0.5 })).toEqual([1, 0, 0, 0]);
    expect(nextTokenProbabilities(logits, all, { ...none, topP: 0.7 }).filter((x) => x > 0)).toHaveLength(2);
  });
  test("a low temperature sharpens", () => {
    const cold = nextTokenProbabilities(logits, all, { ...none, temperature: 0.1 });
    expect(cold[0]).toBeGreaterThan(0.9999);
    expect(cold[1]! / cold[0]!).toBeCloseTo(Math.exp(-10), 8);
  });
});

describe("basics", () => {
  test("sinusoids are those of the paper", () => {
    const table = sinusoids(4, 8);
    expect(table[0]).toEqual([0, 1, 0, 1, 0, 1, 0, 1]);
    expect(table[3]![2]).toBeCloseTo(Math.sin(3 / 10000 ** (2 / 8)), 12);
    expect(table[3]![3]).toBeCloseTo(Math.cos(3 / 10000 ** (2 / 8)), 12);
  });
  test("scores of random vectors grow with the square root of d", () => {
    const spread = (d: number) => {
      const found = Array.from({ length: 200 }, (_, i) => dot(normals(d, i), normals(d, 1000 + i)));
      return Math.sqrt(found.reduce((sum, x) => sum + x * x, 0) / found.length);
    };
    expect(spread(256) / 16).toBeGreaterThan(0.85);
    expect(spread(256) / 16).toBeLessThan(1.15);
    expect(softmaxGradient([1, 0])).toBe(0);
    expect(softmaxGradient([0.5, 0.5])).toBe(0.25);
  });
  test("layer norm has mean 0 and variance 1", () => {
    const { mean, deviation, normalised } = layerNorm([1, 2, 3, 6], 0);
    expect([mean, deviation]).toEqual([3, Math.sqrt(3.5)]);
    expect(normalised.reduce((a, b) => a + b)).toBeCloseTo(0, 12);
    expect(normalised.reduce((a, b) => a + b * b, 0) / 4).toBeCloseTo(1, 12);
  });
  test("the principal plane keeps distances of points in a plane", () => {
    const points = [
      [0, 0, 1],
      [4, 0, 1],
      [0, 1, 1],
      [4, 1, 1],
    ];
    const plane = principalPlane(points);
    const distance = (a: readonly number[], b: readonly number[]) =>
      Math.hypot(...a.map((x, i) => x - b[i]!));
    for (let i = 0; i < 4; ++i)
      for (let j = 0; j < 4; ++j)
        expect(distance(plane[i]!, plane[j]!)).toBeCloseTo(distance(points[i]!, points[j]!), 6);
    expect(Math.abs(plane[1]![0] - plane[0]![0])).toBeCloseTo(4, 6);
    expect(cosine([1, 0], [1, 1])).toBeCloseTo(Math.SQRT1_2, 12);
  });
});

describe("matched words", () => {
  test("words in another order are matched after those in the same order", () => {
    const [a, b] = ["the man beats the boy".split(" "), "the boy beats the man".split(" ")];
    const pairs = matched(a, b).map(([i, j]) => [a[i], i, j]);
    expect(pairs).toEqual([
      ["the", 0, 0],
      ["man", 1, 4],
      ["beats", 2, 2],
      ["the", 3, 3],
      ["boy", 4, 1],
    ]);
  });
});

describe("rank correlation", () => {
  test("does not depend on the order of equal values", () => {
    expect(rankCorrelation([4, 3, 2, 1], [9, 5, 3, 0])).toBeCloseTo(1, 12);
    expect(rankCorrelation([4, 3, 2, 1], [0, 1, 2, 7])).toBeCloseTo(-1, 12);
    // Ranks from the mean: 1.5, 0.5, -0.5, -1.5 and 1.5, -0.5, -0.5, -0.5; 3 / √(5 · 3).
    expect(rankCorrelation([4, 3, 2, 1], [1, 0, 0, 0])).toBeCloseTo(Math.sqrt(0.6), 12);
    expect(rankCorrelation([1, 2, 3, 4], [0, 0, 0, 1])).toBeCloseTo(Math.sqrt(0.6), 12);
    expect(rankCorrelation([4, 3, 2, 1], [0, 0, 0, 0])).toBeNaN();
  });
});
