// Weights of a head as drawn. Columns can be hidden; each row is then divided by its new sum.
import { type Head, type Matrix, specialColumns, weightsOf } from "./capture";
import { largestOf, sinkColumns, withoutColumns } from "./math";
import type { Store } from "./store";

/** Return for each column of a head whether the state hides it. */
function hiddenColumns(store: Store, head: Head, weights: Matrix): boolean[] {
  const { hideSpecial, hideSinks } = store.state;
  const special = specialColumns(store.capture, head);
  const sinks = sinkColumns(weights);
  return special.map((flag, c) => (hideSpecial && flag) || (hideSinks && sinks[c]!));
}

interface Drawn {
  weights: Matrix;
  hides: boolean; // whether a column is hidden
}

// For each matrix of weights: the drawn weights by the options that hide columns.
const drawn = new WeakMap<Matrix, Map<string, Drawn>>();

function drawnOf(store: Store, head: Head): Drawn | undefined {
  const weights = weightsOf(head);
  const { hideSpecial, hideSinks } = store.state;
  if (!weights || (!hideSpecial && !hideSinks)) return weights && { weights, hides: false };
  let known = drawn.get(weights);
  if (!known) drawn.set(weights, (known = new Map<string, Drawn>()));
  const key = `${hideSpecial} ${hideSinks}`;
  let result = known.get(key);
  if (!result) {
    const hidden = hiddenColumns(store, head, weights);
    known.set(key, (result = { weights: withoutColumns(weights, hidden), hides: hidden.includes(true) }));
  }
  return result;
}

/** Return the drawn weights of a head (default: the shown one), or undefined if the capture has no weights of it. */
export function drawnWeights(store: Store, head: Head = store.current()): Matrix | undefined {
  return drawnOf(store, head)?.weights;
}

/** Say what is 100 % on the colour scale of the shown head. */
export function wholeOf(store: Store): string {
  return drawnOf(store, store.current())?.hides
    ? "of each row's attention to the shown tokens"
    : "of each row's attention";
}

/** Return the label of the end of the shown head's colour scale, where `maximum` is the weight with the full colour. */
export function scaleLabel(store: Store, maximum: number): string {
  return `${(100 * maximum).toFixed(maximum < 0.1 ? 1 : 0)} % ${wholeOf(store)}`;
}

/** Say to how many percent the drawn rows of the shown head sum. */
export function sumOfRows(store: Store): string {
  const { weights, hides } = drawnOf(store, store.current()) ?? { weights: [], hides: false };
  if (!hides) return "Each row sums to 100.";
  const empty = weights.some((row) => row.every((weight) => weight === 0));
  return `Without the hidden tokens, each row sums to 100${empty ? ", or to 0 if it attends only to hidden tokens" : ""}.`;
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
