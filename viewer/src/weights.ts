// Weights of the shown head as drawn. Columns can be hidden; each row is then divided by its new sum.
import { headKey, type Matrix, specialColumns, weightsOf } from "./capture";
import { sinkColumns, withoutColumns } from "./math";
import type { Store } from "./store";

const drawn = new WeakMap<Store, { key: string; weights: Matrix }>();

/** Return the drawn weights, or undefined if the capture has no weights of the shown head. */
export function drawnWeights(store: Store): Matrix | undefined {
  const head = store.current();
  const weights = weightsOf(head);
  const { hideSpecial, hideSinks } = store.state;
  if (!weights || (!hideSpecial && !hideSinks)) return weights;
  const key = `${headKey(head)} ${hideSpecial} ${hideSinks}`;
  const known = drawn.get(store);
  if (known?.key === key) return known.weights;
  const special = specialColumns(store.capture, head);
  const sinks = sinkColumns(weights);
  const hidden = special.map((flag, c) => (hideSpecial && flag) || (hideSinks && sinks[c]!));
  const result = withoutColumns(weights, hidden);
  drawn.set(store, { key, weights: result });
  return result;
}

const largest = new WeakMap<Matrix, number>(); // computed once, because the map is drawn in every frame

/** Return the weight that has the full colour. */
export function scaleMaximum(store: Store, weights: Matrix): number {
  if (!store.state.rescale) return 1;
  let most = largest.get(weights);
  if (most === undefined) {
    most = 1e-12;
    for (const row of weights) for (const weight of row) most = Math.max(most, weight);
    largest.set(weights, most);
  }
  return most;
}

export const thumbnailOnly =
  "This file has a thumbnail of this head only. `regard attend --html --layer L --head H` writes its weights, " +
  "`--full` those of every head.";
