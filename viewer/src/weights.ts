// Weights of a head as drawn. Columns can be hidden; each row is then divided by its new sum.
import { type Head, type Matrix, specialColumns, weightsOf } from "./capture";
import { largestOf, sinkColumns, withoutColumns } from "./math";
import type { Store } from "./store";

// For each matrix of weights: the drawn weights by the hidden columns.
const drawn = new WeakMap<Matrix, Map<string, Matrix>>();

/** Return the drawn weights of a head (default: the shown one), or undefined if the capture has no weights of it. */
export function drawnWeights(store: Store, head: Head = store.current()): Matrix | undefined {
  const weights = weightsOf(head);
  const { hideSpecial, hideSinks } = store.state;
  if (!weights || (!hideSpecial && !hideSinks)) return weights;
  let known = drawn.get(weights);
  if (!known) drawn.set(weights, (known = new Map<string, Matrix>()));
  const key = `${hideSpecial} ${hideSinks}`;
  let result = known.get(key);
  if (!result) {
    const special = specialColumns(store.capture, head);
    const sinks = sinkColumns(weights);
    const hidden = special.map((flag, c) => (hideSpecial && flag) || (hideSinks && sinks[c]!));
    known.set(key, (result = withoutColumns(weights, hidden)));
  }
  return result;
}

const largest = new WeakMap<Matrix, number>(); // computed once, because the map is drawn in every frame

/** Return the weight that has the full colour. */
export function scaleMaximum(store: Store, weights: Matrix): number {
  if (!store.state.rescale) return 1;
  let most = largest.get(weights);
  if (most === undefined) {
    most = largestOf(weights);
    largest.set(weights, most);
  }
  return most;
}

export const thumbnailOnly =
  "This file has a thumbnail of this head only. `regard attend --html --layer L --head H` writes its weights, " +
  "`--full` those of every head.";
