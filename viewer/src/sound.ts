// Times of the positions of a sound, and the weights of a query over time.
import type { Capture, Head } from "./capture";
import { type Matrix, weightsOf } from "./capture";
import { rowsOf } from "./packed";

/** Weights of one query over the sound: for each band (one without patches), the weight at each time step. */
export interface Heard {
  bands: number[][]; // [bands][cells], the lowest band first; cell i covers the time from i to i + 1 time steps
  specials: number; // weight on the special tokens
  after: number; // weight on the positions after the sound's end
}

/** Return the number of time steps in the sound. */
export function cellCount(capture: Capture): number {
  const { seconds, time_step: step } = capture.sound!;
  return Math.max(1, Math.round(seconds / step));
}

/** Return the cell of the first position. */
function firstCell(capture: Capture): number {
  const { first_time: first, time_step: step } = capture.sound!;
  return Math.round(first / step - 0.5);
}

/** Arrange the weights [keys] of one query by time. */
export function heard(capture: Capture, weights: readonly number[]): Heard {
  const { specials } = capture.sound!;
  const rows = capture.drawing?.patches?.rows ?? 1;
  const columns = (weights.length - specials) / rows;
  const cells = cellCount(capture);
  const shift = firstCell(capture);
  const bands = Array.from({ length: rows }, () => new Array<number>(cells).fill(0));
  let after = 0;
  for (let r = 0; r < rows; ++r)
    for (let c = 0; c < columns; ++c) {
      const weight = weights[specials + r * columns + c]!;
      const cell = Math.max(0, c + shift);
      if (cell < cells) bands[r]![cell]! += weight;
      else after += weight;
    }
  return { bands, specials: weights.slice(0, specials).reduce((sum, x) => sum + x, 0), after };
}

/** Return the sum of all bands at each time step. */
export function profile({ bands }: Heard): number[] {
  return bands[0]!.map((_, i) => bands.reduce((sum, band) => sum + band[i]!, 0));
}

/** Return the time in seconds of the position with the largest weight, and that weight. */
export function peak(capture: Capture, weights: readonly number[]): { time: number; weight: number } {
  const all = profile(heard(capture, weights));
  const best = all.indexOf(Math.max(...all));
  const { first_time: first, time_step: step } = capture.sound!;
  return { time: first + (best - firstCell(capture)) * step, weight: all[best]! };
}

function mean(matrix: Matrix): number[] {
  return matrix[0]!.map((_, c) => matrix.reduce((sum, row) => sum + row[c]!, 0) / matrix.length);
}

export interface Query {
  name: string;
  row: number; // row of the head's weights; −1: the mean over all rows
  weights: readonly number[];
}

/** Return the queries of a head whose keys are in the sound: the generated words, or the mean and each position. */
export function queriesOf(head: Head, names: readonly string[]): Query[] {
  if (head.kind === "decoder") return [];
  const all = weightsOf(head);
  const rows = (all ?? []).map((weights, row) => ({ name: names[row]!, row, weights }));
  if (head.kind === "cross") return rows;
  const name = "mean over all positions";
  if (all) return [{ name, row: -1, weights: mean(all) }, ...rows];
  const received = head.received && rowsOf(head.received);
  if (!received) return [];
  return received.map((weights, i) => ({ name: i === 0 ? name : names[i - 1]!, row: i - 1, weights }));
}

/** Return round times for an axis of `seconds`, about eight at most. */
export function ticks(seconds: number): number[] {
  const steps = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
  const step = steps.find((each) => seconds / each <= 8) ?? 10;
  return Array.from({ length: Math.floor(seconds / step + 1e-6) + 1 }, (_, i) => i * step);
}
