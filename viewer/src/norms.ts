// Which norm a model applies before attention, found from the states of a pass.
import { layerNorm, length } from "./math";
import type { Matrix } from "./packed";

/** none: attention reads the state as it is. other: not recognised, or too few tokens. */
export type Norm = "none" | "rms" | "layer" | "other";

const tolerance = 1e-3;

/** Return the vector divided by its root mean square (Zhang and Sennrich 2019), and the root mean square. */
export function rmsNorm(vector: readonly number[]): { size: number; normalised: number[] } {
  const size = Math.max(1e-12, length(vector) / Math.sqrt(vector.length));
  return { size, normalised: vector.map((x) => x / size) };
}

/** Whether output = gain · input + bias (without `bias`: output = gain · input) fits each feature over the tokens. */
function fits(inputs: Matrix, outputs: Matrix, bias: boolean): boolean {
  const size = Math.max(1e-12, ...outputs.map((row) => Math.max(...row.map(Math.abs))));
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  return outputs[0]!.every((_, feature) => {
    const x = inputs.map((row) => row[feature]!);
    const y = outputs.map((row) => row[feature]!);
    const [mx, my] = bias ? [mean(x), mean(y)] : [0, 0];
    const square = x.reduce((sum, value) => sum + (value - mx) ** 2, 0);
    const gain = square > 0 ? x.reduce((sum, value, i) => sum + (value - mx) * (y[i]! - my), 0) / square : 0;
    return x.every((value, i) => Math.abs(my + gain * (value - mx) - y[i]!) < tolerance * size);
  });
}

/** Find the norm between the states [tokens][features] and what attention reads. */
export function normBetween(states: Matrix, inputs: Matrix): Norm {
  const same = (row: readonly number[], t: number) =>
    row.every((x, i) => Math.abs(x - inputs[t]![i]!) < 1e-6 * Math.max(1, Math.abs(x)));
  if (states.every(same)) return "none";
  if (states.length < 3) return "other";
  const rms = states.map((state) => rmsNorm(state).normalised);
  if (fits(rms, inputs, false)) return "rms";
  const layer = states.map((state) => layerNorm(state).normalised);
  return fits(layer, inputs, true) ? "layer" : "other";
}
