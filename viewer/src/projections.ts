// The products with trained parameters: queries, keys and values of one head, and the layer's output.
import { activation, type Capture, type Head, headKey, type Matrix, weightsOf } from "./capture";
import { chainOf, inputsOf, randomWeight, type Source, type Vectors, vectorsOf } from "./chain";
import { largestDifference, product, weightedSums } from "./math";
import { rowsOf } from "./packed";

export type Part = "query" | "key" | "value";

/** The factors of y = x weight + bias. */
export interface Factors {
  input: Matrix; // [tokens][in]
  weight: Matrix; // [in][out]
  bias: readonly number[] | undefined;
}

function layerName(head: Head): string {
  const side = head.kind === "cross" ? "decoder" : head.kind;
  return `${side}.${head.layer}.${head.kind === "cross" ? "cross" : "self"}`;
}

/** Return the input of the layer's queries, and of its keys and values. */
export function layerInput(capture: Capture, head: Head, part: Part): Matrix | undefined {
  return activation(
    capture,
    part !== "query" && head.kind === "cross" ? "encoder.output" : `${layerName(head)}.input`,
  );
}

/** Return what a part of a head is computed from, or undefined if the capture lacks it or there are no parameters. */
export function factorsOf(
  capture: Capture,
  head: Head,
  part: Part,
  { vectors, positions }: { vectors: Source; positions: boolean },
): Factors | undefined {
  if (vectors === "none") return undefined;
  if (vectors === "random") {
    const input = inputsOf(capture, head, positions)?.[part === "query" ? 0 : 1];
    const size = vectorsOf(head)?.query[0]?.length ?? 1;
    if (!input) return undefined;
    return { input, weight: randomWeight(input[0]?.length ?? 0, size, part), bias: undefined };
  }
  const input = layerInput(capture, head, part);
  const one = head.parameters?.[part];
  return input && one && { input, weight: rowsOf(one.weight), bias: one.bias };
}

/** Return x weight + bias. */
export function applied({ input, weight, bias }: Factors): number[][] {
  const rows = product(input, weight);
  return bias ? rows.map((row) => row.map((value, i) => value + bias[i]!)) : rows;
}

/** Whether x weight + bias is the model's own vector. It is not if the model normalises or rotates it afterwards. */
export function agrees(computed: Matrix, model: Matrix): boolean {
  const size = Math.max(1, ...model.map((row) => Math.max(...row.map(Math.abs))));
  return largestDifference(computed, model) < 1e-3 * size;
}

/** The output of one head before W_O, and its part of the layer's output. */
export interface HeadOutput {
  head: Head;
  output: Matrix | undefined; // [queries][value size]; undefined if the capture lacks its vectors
  weight: Matrix | undefined; // rows of W_O [value size][hidden]
}

/**
 * Return the weights of a head, computed from its vectors. The captured weights may be rounded to 8 bits. A larger
 * difference means that the head adds something to the scores, such as a position bias, or attends to a window;
 * `explained` is then false, and the weights are those of the capture.
 */
export function modelWeights(head: Head, vectors: Vectors): { weights: Matrix; explained: boolean } {
  const captured = weightsOf(head);
  const { weights } = chainOf(vectors, { scaling: true, mask: true, sameQueryKey: false });
  return captured && largestDifference(weights, captured) > 1 / 255
    ? { weights: captured, explained: false }
    : { weights, explained: true };
}

/** Return the output of a head: its weights times its values. */
export function outputOf(head: Head): Matrix | undefined {
  const vectors = vectorsOf(head);
  return vectors && weightedSums(modelWeights(head, vectors).weights, vectors.value);
}

/** What the capture holds of the output of a layer. */
export interface LayerOutput {
  heads: HeadOutput[]; // the heads in the capture, in order
  count: number; // number of heads of the layer; the capture may lack some
  output: Matrix | undefined; // [queries][hidden]
  bias: readonly number[] | undefined;
}

/** Return the heads of the layer of `head`, and the layer's output. */
export function layerOutput(capture: Capture, head: Head): LayerOutput {
  const heads = capture.attention
    .filter(({ kind, layer }) => kind === head.kind && layer === head.layer)
    .map((each) => ({
      head: each,
      output: outputOf(each),
      weight: each.parameters && rowsOf(each.parameters.output.weight),
    }));
  const queries = capture.drawing?.points.find(({ name }) => name === `${layerName(head)}.query`);
  return {
    heads,
    count: Math.max(heads.length, queries?.heads ?? 0),
    output: activation(capture, `${layerName(head)}.output`),
    bias: head.parameters?.output.bias,
  };
}

/** Add the vectors, parameters and activations of another capture of the same pass, which has heads of one layer. */
export function addParameters(capture: Capture, more: Capture): void {
  for (const head of more.attention) {
    const known = capture.attention.find((each) => headKey(each) === headKey(head));
    if (!known) continue;
    if (head.values) known.values ??= head.values;
    if (head.parameters) known.parameters = head.parameters;
  }
  const names = new Set(capture.activations?.map(({ name }) => name));
  capture.activations = [
    ...(capture.activations ?? []),
    ...(more.activations ?? []).filter(({ name }) => !names.has(name)),
  ];
}
