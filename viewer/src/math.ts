// Arithmetic of the page: one head of at most 64 tokens, next-token filters, norms and projections. Tests compare it
// with captures.
import type { Matrix } from "./packed";

export function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += a[i]! * b[i]!;
  return sum;
}

/** Return Q Kᵀ: one dot product for each query and key. */
export function scores(query: Matrix, key: Matrix): number[][] {
  return query.map((q) => key.map((k) => dot(q, k)));
}

export function scaled(matrix: Matrix, factor: number): number[][] {
  return matrix.map((row) => row.map((value) => value * factor));
}

/** Replace the scores of later keys by −∞. Queries and keys are aligned at the end. */
export function causallyMasked(matrix: Matrix): number[][] {
  const offset = (matrix[0]?.length ?? 0) - matrix.length;
  return matrix.map((row, i) => row.map((value, j) => (j > i + offset ? -Infinity : value)));
}

export interface SoftmaxSteps {
  maximum: number;
  exponentials: number[];
  sum: number;
  weights: number[];
}

/** Return the softmax of one row with its intermediate values. A row of −∞ has weights 0. */
export function softmaxSteps(row: readonly number[]): SoftmaxSteps {
  const maximum = Math.max(...row);
  if (maximum === -Infinity)
    return { maximum, exponentials: row.map(() => 0), sum: 0, weights: row.map(() => 0) };
  const exponentials = row.map((value) => Math.exp(value - maximum));
  const sum = exponentials.reduce((a, b) => a + b, 0);
  return { maximum, exponentials, sum, weights: exponentials.map((value) => value / sum) };
}

export function softmaxRows(matrix: Matrix): number[][] {
  return matrix.map((row) => softmaxSteps(row).weights);
}

/** Return weights · V: each row is the mean of the value vectors, weighted by attention. */
export function weightedSums(weights: Matrix, value: Matrix): number[][] {
  const width = value[0]?.length ?? 0;
  return weights.map((row) =>
    Array.from({ length: width }, (_, d) => row.reduce((sum, w, j) => sum + w * value[j]![d]!, 0)),
  );
}

export function largestDifference(a: Matrix, b: Matrix): number {
  let most = 0;
  a.forEach((row, i) => row.forEach((value, j) => (most = Math.max(most, Math.abs(value - b[i]![j]!)))));
  return most;
}

/** Return the largest absolute value, at least 1e-12, without NaN. The matrices may have any number of elements. */
export function largestOf(...matrices: readonly Matrix[]): number {
  let most = 1e-12;
  for (const matrix of matrices)
    for (const row of matrix) for (const value of row) if (Math.abs(value) > most) most = Math.abs(value);
  return most;
}

export function isSymmetric(matrix: Matrix, tolerance = 1e-6): boolean {
  if (matrix.length !== (matrix[0]?.length ?? 0)) return false;
  const size = Math.max(1, ...matrix.flat().filter(Number.isFinite).map(Math.abs));
  return matrix.every((row, i) =>
    row.every((value, j) => value === matrix[j]![i] || Math.abs(value - matrix[j]![i]!) <= tolerance * size),
  );
}

/** Remove columns and divide each row by its new sum; rows without weight stay 0. */
export function withoutColumns(matrix: Matrix, hidden: readonly boolean[]): number[][] {
  return matrix.map((row) => {
    const kept = row.map((value, j) => (hidden[j] ? 0 : value));
    const sum = kept.reduce((a, b) => a + b, 0);
    return sum > 0 ? kept.map((value) => value / sum) : kept;
  });
}

/** Return for each column whether it is a sink: its mean weight is at least 0.3 and three times the uniform weight. */
export function sinkColumns(matrix: Matrix): boolean[] {
  const columns = matrix[0]?.length ?? 0;
  const bound = Math.max(0.3, 3 / Math.max(1, columns));
  return Array.from(
    { length: columns },
    (_, c) => matrix.reduce((sum, row) => sum + row[c]!, 0) / matrix.length >= bound,
  );
}

/** Return for each row the sum of its weights over the chosen columns. */
export function sumsOver(matrix: Matrix, columns: readonly number[]): number[] {
  return matrix.map((row) => columns.reduce((sum, c) => sum + (row[c] ?? 0), 0));
}

export interface TokenFilter {
  temperature: number;
  topK: number; // 0: keep all tokens
  topP: number;
}

/**
 * Probabilities of the listed tokens (largest logit first) under temperature, then top-k, then top-p, in the
 * order of transformers' generate(). Filtered tokens have 0. Without filters, `logSumExp` gives the
 * probabilities among the whole vocabulary; with a filter they are relative to the listed tokens.
 */
export function nextTokenProbabilities(
  logits: readonly number[],
  logSumExp: number,
  { temperature, topK, topP }: TokenFilter,
): number[] {
  if (temperature === 1 && topK === 0 && topP >= 1) return logits.map((logit) => Math.exp(logit - logSumExp));
  const kept = logits.map((logit, i) =>
    topK > 0 && i >= topK ? -Infinity : logit / Math.max(temperature, 1e-6),
  );
  const { weights } = softmaxSteps(kept);
  if (topP >= 1) return weights;
  let before = 0;
  const nucleus = weights.map((weight, i) => {
    const inside = i === 0 || before < topP;
    before += weight;
    return inside ? weight : 0;
  });
  const sum = nucleus.reduce((a, b) => a + b, 0);
  return nucleus.map((weight) => weight / sum);
}

/** Return sinusoidal position encodings [positions][features] (Vaswani et al. 2017, section 3.5). */
export function sinusoids(positions: number, features: number): number[][] {
  return Array.from({ length: positions }, (_, p) =>
    Array.from({ length: features }, (_, i) => {
      const angle = p / 10000 ** ((2 * Math.floor(i / 2)) / features);
      return i % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

/** Return standard normal numbers that depend only on the seed (mulberry32 and Box–Muller). */
export function normals(count: number, seed: number): number[] {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
  return Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()),
  );
}

/** Return the mean gradient of a softmax: the mean of w (1 − w), the diagonal of its Jacobian. */
export function softmaxGradient(weights: readonly number[]): number {
  return weights.reduce((sum, w) => sum + w * (1 - w), 0) / Math.max(1, weights.length);
}

export interface NormSteps {
  mean: number;
  deviation: number;
  normalised: number[]; // before gain and bias
}

/** Return the layer norm (Ba et al. 2016) of one vector, before gain and bias. */
export function layerNorm(vector: readonly number[], epsilon = 1e-5): NormSteps {
  const mean = vector.reduce((a, b) => a + b, 0) / vector.length;
  const variance = vector.reduce((sum, x) => sum + (x - mean) ** 2, 0) / vector.length;
  const deviation = Math.sqrt(variance + epsilon);
  return { mean, deviation, normalised: vector.map((x) => (x - mean) / deviation) };
}

export function length(vector: readonly number[]): number {
  return Math.sqrt(dot(vector, vector));
}

export function cosine(a: readonly number[], b: readonly number[]): number {
  const size = length(a) * length(b);
  return size > 0 ? dot(a, b) / size : 0;
}

/** Return Spearman's rank correlation; equal values have their mean rank. NaN if all values of a list are equal. */
export function rankCorrelation(a: readonly number[], b: readonly number[]): number {
  const ranks = (values: readonly number[]) =>
    values.map((value) => {
      const smaller = values.filter((other) => other < value).length;
      const equal = values.filter((other) => other === value).length;
      return smaller + equal / 2 - values.length / 2;
    });
  const [x, y] = [ranks(a), ranks(b)];
  return length(x) > 0 && length(y) > 0 ? cosine(x, y) : NaN;
}

/** Project the rows on their first two principal components, found by power iteration: [x, y] of each row. */
export function principalPlane(rows: Matrix): [number, number][] {
  const width = rows[0]?.length ?? 0;
  const mean = Array.from(
    { length: width },
    (_, d) => rows.reduce((sum, row) => sum + row[d]!, 0) / rows.length,
  );
  let rest = rows.map((row) => row.map((x, d) => x - mean[d]!));
  const coordinates = [0, 1].map((component) => {
    let axis = normals(width, component + 1);
    for (let i = 0; i < 60; ++i) {
      const along = rest.map((row) => dot(row, axis));
      const next = axis.map((_, d) => rest.reduce((sum, row, r) => sum + row[d]! * along[r]!, 0));
      const size = length(next);
      if (size < 1e-12) break;
      axis = next.map((x) => x / size);
    }
    const size = length(axis);
    axis = axis.map((x) => x / size);
    const along = rest.map((row) => dot(row, axis));
    rest = rest.map((row, r) => row.map((x, d) => x - along[r]! * axis[d]!));
    return along;
  });
  return rows.map((_, r) => [coordinates[0]![r]!, coordinates[1]![r]!]);
}

/** Return the mean over the rows of half the sum of absolute differences: 0 for equal weights, 1 for disjoint ones. */
export function meanTotalVariation(a: Matrix, b: Matrix): number {
  if (a.length === 0) return 0;
  let sum = 0;
  a.forEach((row, r) => row.forEach((value, c) => (sum += Math.abs(value - b[r]![c]!))));
  return sum / 2 / a.length;
}

/**
 * Pairs of indices of equal elements in a longest common subsequence of two lists, in order. For lists of at most
 * a few hundred elements: its time is the product of the lengths.
 */
export function aligned<T>(a: readonly T[], b: readonly T[]): [number, number][] {
  const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; --i)
    for (let j = b.length - 1; j >= 0; --j)
      length[i]![j] =
        a[i] === b[j] ? 1 + length[i + 1]![j + 1]! : Math.max(length[i + 1]![j]!, length[i]![j + 1]!);
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (length[i + 1]![j]! >= length[i]![j + 1]!) ++i;
    else ++j;
  }
  return pairs;
}

/**
 * Pairs of indices of equal elements, sorted: those of aligned(), then of the others, which stand in another order,
 * the first with the first.
 */
export function matched<T>(a: readonly T[], b: readonly T[]): [number, number][] {
  const pairs = aligned(a, b);
  const used = [new Set(pairs.map(([i]) => i)), new Set(pairs.map(([, j]) => j))] as const;
  a.forEach((each, i) => {
    if (used[0].has(i)) return;
    const j = b.findIndex((other, at) => other === each && !used[1].has(at));
    if (j < 0) return;
    used[1].add(j);
    pairs.push([i, j]);
  });
  return pairs.sort(([i], [j]) => i - j);
}

/** Return the matrix product A B. */
export function product(a: Matrix, b: Matrix): number[][] {
  const columns = b[0]?.length ?? 0;
  return a.map((row) => {
    const sums = new Array<number>(columns).fill(0);
    row.forEach((x, i) => b[i]!.forEach((y, c) => (sums[c]! += x * y)));
    return sums;
  });
}

/** Return the number of rows whose largest element is on the diagonal. */
export function diagonalRows(matrix: Matrix): number {
  return matrix.filter((row, i) => i < row.length && row[i]! >= Math.max(...row)).length;
}

/** Return the sum of each column. */
export function columnSums(matrix: Matrix): number[] {
  return Array.from({ length: matrix[0]?.length ?? 0 }, (_, c) =>
    matrix.reduce((sum, row) => sum + row[c]!, 0),
  );
}
