// The arithmetic of one head for the step-by-step view (at most 64 tokens). Held to captures by tests/unit.
import type { Matrix } from "./capture";

export function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += a[i]! * b[i]!;
  return sum;
}

/** Q Kᵀ: one dot product for each query and key. */
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

/** The softmax of one row with its intermediate values. A row of −∞ has weights 0. */
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

/** Weights V: each row is a mean of the value vectors, weighted by attention. */
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
