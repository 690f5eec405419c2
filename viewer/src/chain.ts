// The computation of one head: from its captured vectors, or from vectors without or with random parameters.
import { activation, type Capture, type Head, type Matrix } from "./capture";
import {
  causallyMasked,
  normals,
  product,
  scaled,
  scores,
  sinusoids,
  softmaxRows,
  weightedSums,
} from "./math";
import { rowsOf } from "./packed";

/** Where queries, keys and values come from: the model, random matrices, or the inputs themselves. */
export type Source = "trained" | "random" | "none";

/** What the head computed its weights from, as rows of numbers. */
export interface Vectors {
  query: Matrix; // [queries][size]
  key: Matrix; // [keys][size]
  value: Matrix; // [keys][value size]
  scale: number;
  causal: boolean;
}

export function vectorsOf(head: Head): Vectors | undefined {
  const { values } = head;
  if (!values) return undefined;
  return { ...values, query: rowsOf(values.query), key: rowsOf(values.key), value: rowsOf(values.value) };
}

/** Whether the positions that were added to the inputs of a head are known, so that they can be taken off. */
export function positionsKnown(capture: Capture, head: Head): boolean {
  return capture.drawing?.positions === "sinusoidal" && head.layer === 0 && head.kind !== "cross";
}

/** Inputs of a head's queries and keys, without the positions if they are known and `positions` is false. */
export function inputsOf(capture: Capture, head: Head, positions: boolean): [Matrix, Matrix] | undefined {
  if (head.kind === "cross") {
    const query = activation(capture, `decoder.${head.layer}.cross.input`);
    const key = activation(capture, "encoder.output");
    return query && key && [query, key];
  }
  if (!positionsKnown(capture, head)) {
    const input = activation(capture, `${head.kind}.${head.layer}.self.input`);
    return input && [input, input];
  }
  const embedding = activation(capture, `${head.kind}.embedding`);
  if (!embedding) return undefined;
  const added = sinusoids(embedding.length, embedding[0]?.length ?? 0);
  const input = positions
    ? embedding
    : embedding.map((row, t) => row.map((value, d) => value - added[t]![d]!));
  return [input, input];
}

/** A random matrix [rows][columns] whose products keep the length of vectors on average; the same for each seed. */
function randomMatrix(rows: number, columns: number, seed: number): number[][] {
  const numbers = normals(rows * columns, seed);
  const factor = 1 / Math.sqrt(rows);
  return Array.from({ length: rows }, (_, r) =>
    numbers.slice(r * columns, (r + 1) * columns).map((x) => x * factor),
  );
}

/** The vectors of a head under the switches; undefined if the capture has no inputs for them. */
export function chosenVectors(
  capture: Capture,
  head: Head,
  { vectors, positions }: { vectors: Source; positions: boolean },
): Vectors | undefined {
  const trained = vectorsOf(head);
  if (!trained || vectors === "trained") return trained;
  const inputs = inputsOf(capture, head, positions);
  if (!inputs) return undefined;
  const [query, key] = inputs;
  const hidden = query[0]?.length ?? 0;
  const { causal } = trained;
  if (vectors === "none") return { query, key, value: key, scale: 1 / Math.sqrt(hidden), causal };
  const size = trained.query[0]?.length ?? 1;
  const random = (seed: number) => randomMatrix(hidden, size, seed);
  return {
    query: product(query, random(11)),
    key: product(key, random(12)),
    value: product(key, random(13)),
    scale: 1 / Math.sqrt(size),
    causal,
  };
}

export interface Chain {
  key: Matrix; // with K = Q: the queries
  raw: number[][]; // Q Kᵀ
  divided: number[][];
  masked: number[][];
  weights: number[][];
  output: number[][];
  factor: number;
}

export function chainOf(
  values: Vectors,
  { scaling, mask, sameQueryKey }: { scaling: boolean; mask: boolean; sameQueryKey: boolean },
): Chain {
  const key = sameQueryKey ? values.query.slice(0, values.key.length) : values.key;
  const factor = scaling ? values.scale : 1;
  const raw = scores(values.query, key);
  const divided = scaled(raw, factor);
  const masked = values.causal && mask ? causallyMasked(divided) : divided;
  const weights = softmaxRows(masked);
  return { key, raw, divided, masked, weights, output: weightedSums(weights, values.value), factor };
}
