// The steps of one head: title, one sentence, and the numbers of each.
import { columnTokens, type Head, type Matrix, rowTokens, weightsOf } from "../capture";
import type { Capture } from "../capture.gen";
import { type Chain, chainOf, inputsOf, type Vectors } from "../chain";
import { fixed, h } from "../dom";
import { columnSums, diagonalRows, isSymmetric, largestDifference, length, softmaxSteps } from "../math";
import type { Store } from "../store";
import { layerInput } from "../projections";
import { dotProduct, matrixTable, vectorTable } from "./matrix";
import { joinedBody, outputBody, projectionBody } from "./projection";

export interface Step {
  title: string;
  sentence: string;
  body: () => HTMLElement[];
}

/** Return the largest difference between computed and captured weights that the capture's precision explains. */
export function allowance(capture: Capture): number {
  return capture.precision === "f32" ? 1e-4 : 1 / 255;
}

/** Describe the symmetry and the diagonal of the scores. */
function scoreFacts(raw: Matrix): string {
  const square = raw.length === (raw[0]?.length ?? 0);
  const symmetric = isSymmetric(raw)
    ? "This matrix is symmetric."
    : "This matrix is not symmetric: queries and keys differ.";
  return square
    ? `${symmetric} In ${diagonalRows(raw)} of ${raw.length} rows the largest score is the token's own.`
    : symmetric;
}

function weightFacts(weights: Matrix): string {
  const sums = columnSums(weights);
  return `Rows sum to 1; columns do not: from ${fixed(Math.min(...sums), 2)} to ${fixed(Math.max(...sums), 2)}.`;
}

/** Return how a vector is computed from the hidden state. */
function wordsOf(store: Store, matrix: string): string {
  const { vectors } = store.state;
  if (vectors === "none") return "without parameters, its hidden state itself";
  return vectors === "random"
    ? `its hidden state times a random matrix ${matrix}`
    : `its hidden state times ${matrix}`;
}

/** Say which weights are shown: the model's own, or those of a changed switch. */
function agreement(store: Store, head: Head, chain: Chain): HTMLElement[] {
  const { scaling, mask, sameQueryKey, vectors } = store.state;
  if (!scaling || !mask || sameQueryKey || vectors !== "trained")
    return [h("p", { class: "note" }, "A switch is changed: these are not the model's weights.")];
  const weights = weightsOf(head);
  if (!weights) return [];
  const difference = largestDifference(chain.weights, weights);
  if (difference < allowance(store.capture))
    return [
      h(
        "p",
        { class: "quiet" },
        `The model's own weights (${store.capture.precision}): largest difference ${difference.toExponential(1)}.`,
      ),
    ];
  return [
    h(
      "p",
      { class: "note" },
      `The model's weights differ by up to ${fixed(difference, 3)}: it adds something to the scores that is not shown here, such as a position bias.`,
    ),
  ];
}

/** The parts of a head that its steps share. */
interface Parts {
  store: Store;
  head: Head;
  values: Vectors;
  rows: string[];
  columns: string[];
  row: number;
  column: number;
  chain: Chain;
}

function inputSteps({ store, head, values, rows, columns, row, column, chain }: Parts): Step[] {
  const { state, capture } = store;
  const size = values.query[0]?.length ?? 0;
  const trained = state.vectors === "trained";
  const inputs = trained
    ? ([layerInput(capture, head, "query"), layerInput(capture, head, "key")] as const)
    : inputsOf(capture, head, state.positions);
  const cross = head.kind === "cross";
  const steps: Step[] = [];
  const [states, memory] = inputs ?? [];
  if (states)
    steps.push({
      title: "Input X",
      sentence: `Each token enters the layer as a vector of ${states[0]?.length ?? 0} numbers: its hidden state.${cross ? " Keys and values come from the encoder's output." : ""}`,
      body: () => [
        vectorTable(states, rows, [row, -1], { name: "Input X" }),
        ...(cross && memory
          ? [h("h4", {}, "Encoder's output"), vectorTable(memory, columns, [column, -1])]
          : []),
      ],
    });
  steps.push(
    {
      title: "Queries",
      sentence: `The query of a token is a vector of ${size} numbers: ${wordsOf(store, "W_Q")}.`,
      body: () => projectionBody(store, head, "query", { shown: values.query, names: rows, row }),
    },
    {
      title: "Keys",
      sentence: `The key of a token is a vector of the same size: ${state.sameQueryKey ? "here, its query" : wordsOf(store, "W_K")}.`,
      body: () =>
        state.sameQueryKey
          ? [vectorTable(chain.key, columns, [column, -1])]
          : projectionBody(store, head, "key", { shown: chain.key, names: columns, row: column }),
    },
  );
  return steps;
}

function scoreSteps({ store, values, rows, columns, row, column, chain }: Parts): Step[] {
  const width = values.query[0]?.length ?? 0;
  const pick = (r: number, c: number) => store.update({ row: r, column: c });
  const square = (matrix: Matrix, name: string) =>
    matrixTable(matrix, { rows, columns }, { signed: true, picked: [row, column], pick, name });
  const factor = `${fixed(chain.factor, 4)}${Math.abs(chain.factor - 1 / Math.sqrt(width)) < 1e-6 ? ` = 1/√${width}` : ""}`;
  const steps: Step[] = [
    {
      title: "Q Kᵀ",
      sentence: "The score of a query and a key is their dot product. Select a cell to see its terms.",
      body: () => [
        square(chain.raw, "Scores"),
        dotProduct(values.query[row]!, chain.key[column]!, [rows[row]!, columns[column]!]),
        h("p", { class: "quiet" }, scoreFacts(chain.raw)),
      ],
    },
    {
      title: "Scale",
      sentence: `Scores grow with the length of the vectors; each is multiplied by ${factor}.`,
      body: () => [
        square(chain.divided, "Scaled scores"),
        h(
          "p",
          { class: "formula" },
          `${fixed(chain.raw[row]![column]!, 3)} · ${fixed(chain.factor, 4)} = `,
          h("b", {}, fixed(chain.divided[row]![column]!, 3)),
        ),
      ],
    },
  ];
  if (values.causal)
    steps.push({
      title: "Mask",
      sentence: "A decoder must not attend to later tokens: their scores are replaced by −∞.",
      body: () => [square(chain.masked, "Masked scores")],
    });
  return steps;
}

function softmaxPart({ store, head, rows, columns, row, column, chain }: Parts): Step[] {
  const softmax = softmaxSteps(chain.masked[row]!);
  const pick = (r: number, c: number) => store.update({ row: r, column: c });
  const line = (name: string, numbers: readonly number[]) =>
    matrixTable([numbers], { rows: [name], columns }, { signed: false, picked: [-1, -1] });
  return [
    {
      title: "Maximum and exp",
      sentence:
        "The row's maximum is subtracted, so exp cannot overflow; then exp makes every number positive.",
      body: () => [
        h("p", { class: "quiet" }, "Row of ", h("bdi", {}, rows[row]!), "; the keys j and k change it."),
        line("scores", chain.masked[row]!),
        h("p", { class: "formula" }, `maximum of the row: ${fixed(softmax.maximum, 3)}`),
        line("exp", softmax.exponentials),
      ],
    },
    {
      title: "Softmax",
      sentence: "Each number is divided by the row's sum. The weights of a row sum to 1.",
      body: () => [
        h("p", { class: "formula" }, `sum of the row: ${fixed(softmax.sum, 3)}`),
        matrixTable(
          chain.weights,
          { rows, columns },
          { signed: false, picked: [row, column], pick, name: "Weights" },
        ),
        h("p", { class: "quiet" }, weightFacts(chain.weights)),
        ...agreement(store, head, chain),
      ],
    },
  ];
}

function valueSteps({ store, head, values, rows, columns, row, column, chain }: Parts): Step[] {
  // A short value vector adds little even with the largest weight, so the parts are ranked by their length.
  const parts = values.value.map((value, i) => chain.weights[row]![i]! * length(value));
  const ranked = columns.map((_, i) => i).sort((a, b) => parts[b]! - parts[a]!);
  const steps: Step[] = [
    {
      title: "Values",
      sentence: `The value of a token is the vector that the weighted sum reads: ${wordsOf(store, "W_V")}.`,
      body: () => projectionBody(store, head, "value", { shown: values.value, names: columns, row: column }),
    },
    {
      title: "Weighted sum",
      sentence: `The output of a token is the sum of all value vectors, each times its weight. The longest of these vectors is that of “${columns[ranked[0]!]}”.`,
      body: () => [
        h(
          "p",
          { class: "formula" },
          ...ranked
            .slice(0, 4)
            .flatMap((i, n) => [
              n > 0 ? " + " : "",
              `${fixed(chain.weights[row]![i]!, 3)} · V(`,
              h("bdi", {}, columns[i]!),
              ")",
            ]),
          columns.length > 4 ? " + …" : "",
        ),
        vectorTable(chain.output, rows, [row, -1], { name: "Outputs of the head" }),
      ],
    },
  ];
  if (store.state.vectors !== "trained") return steps;
  const joined = joinedBody(store, head, rows, row);
  if (joined) steps.push(joined);
  const output = outputBody(store, head, rows, row);
  if (output) steps.push(output);
  return steps;
}

export function stepsOf(store: Store, head: Head, values: Vectors): Step[] {
  const rows = rowTokens(store.capture, head);
  const columns = columnTokens(store.capture, head);
  const parts: Parts = {
    store,
    head,
    values,
    rows,
    columns,
    row: Math.max(0, Math.min(store.state.row, rows.length - 1)),
    column: Math.max(0, Math.min(store.state.column, columns.length - 1)),
    chain: chainOf(values, store.state),
  };
  return [...inputSteps(parts), ...scoreSteps(parts), ...softmaxPart(parts), ...valueSteps(parts)];
}
