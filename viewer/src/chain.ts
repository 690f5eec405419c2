// Compute one head from its captured vectors, or from vectors with random or no parameters.
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

/** Source of queries, keys and values: the model, random matrices, or the inputs themselves. */
export type Source = "trained" | "random" | "none";

/** Queries, keys and values of a head. */
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

/** Whether the positions added to the inputs of a head are known and can be subtracted. */
export function positionsKnown(capture: Capture, head: Head): boolean {
  return capture.drawing?.positions === "sinusoidal" && head.layer === 0 && head.kind !== "cross";
}

/** Return the inputs of a head's queries and keys. If `positions` is false, known positions are subtracted. */
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

/** Return a random matrix [rows][columns] that preserves the length of vectors on average. Depends only on the seed. */
function randomMatrix(rows: number, columns: number, seed: number): number[][] {
  const numbers = normals(rows * columns, seed);
  const factor = 1 / Math.sqrt(rows);
  return Array.from({ length: rows }, (_, r) =>
    numbers.slice(r * columns, (r + 1) * columns).map((x) => x * factor),
  );
}

/** Return the random matrix that replaces W_Q, W_K or W_V. */
export function randomWeight(hidden: number, size: number, part: "query" | "key" | "value"): number[][] {
  return randomMatrix(hidden, size, { query: 11, key: 12, value: 13 }[part]);
}

/** Return the vectors of a head under the switches, or undefined if the capture lacks the inputs. */
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
  const random = (part: "query" | "key" | "value") => randomWeight(hidden, size, part);
  return {
    query: product(query, random("query")),
    key: product(key, random("key")),
    value: product(key, random("value")),
    scale: 1 / Math.sqrt(size),
    causal,
  };
}

export interface Chain {
  key: Matrix; // [keys][size]; the queries if the head is computed with K = Q
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
