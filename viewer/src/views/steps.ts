// The step-by-step view of one head, computed from its captured query, key and value vectors.
import { columnTokens, type Head, type Matrix, rowTokens, weightsOf } from "../capture";
import type { Capture } from "../capture.gen";
import { fixed, h } from "../dom";
import {
  type Chain,
  chainOf,
  chosenVectors,
  inputsOf,
  joinedOutput,
  positionsKnown,
  type Source,
  type Vectors,
  vectorsOf,
} from "../chain";
import { columnSums, diagonalRows, dot, isSymmetric, largestDifference, softmaxSteps } from "../math";
import type { Store } from "../store";

export const most = 64; // most tokens on each side
const mostFeatures = 64; // most features shown of a vector

/** Return the reason why a head's numbers cannot be shown one by one, or undefined if they can. */
export function cannotShow(vectors: Vectors | undefined): HTMLElement | undefined {
  if (!vectors)
    return h(
      "p",
      { class: "note" },
      "This capture holds the query, key and value vectors of other heads only. Select one of the most telling heads.",
    );
  if (vectors.query.length > most || vectors.key.length > most)
    return h("p", { class: "note" }, `This view shows at most ${most} tokens a side.`);
  return undefined;
}

/** Return the largest difference between computed and captured weights that the capture's precision explains. */
export function allowance(capture: Capture): number {
  return capture.precision === "f32" ? 1e-4 : 1 / 255;
}

/** Show a matrix as a table. `signed`: the colour depends on the sign; otherwise the scale is 0 to 1. */
function matrixTable(
  matrix: Matrix,
  labels: { rows: readonly string[]; columns?: readonly string[] | undefined },
  options: { signed: boolean; picked: [number, number]; pick?: (row: number, column: number) => void },
): HTMLElement {
  const size = Math.max(1e-12, ...matrix.flat().filter(Number.isFinite).map(Math.abs));
  const cell = (value: number, r: number, c: number) => {
    const share = options.signed ? Math.abs(value) / size : value;
    const colour = options.signed && value < 0 ? "--negative" : "--accent";
    const td = h(
      "td",
      {
        style: Number.isFinite(value)
          ? `background: color-mix(in srgb, var(${colour}) ${Math.round(45 * share)}%, transparent)`
          : "",
        class: options.picked[0] === r && (options.picked[1] === c || options.picked[1] < 0) ? "picked" : "",
      },
      fixed(value, 2),
    );
    if (options.pick) td.addEventListener("click", () => options.pick!(r, c));
    return td;
  };
  const head = labels.columns
    ? [
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th"),
            ...labels.columns.map((name) => h("th", { scope: "col" }, h("bdi", {}, name))),
          ),
        ),
      ]
    : [];
  return h(
    "div",
    { class: "scroll", tabindex: 0 },
    h(
      "table",
      { class: "matrix" },
      ...head,
      h(
        "tbody",
        {},
        ...matrix.map((row, r) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("bdi", {}, labels.rows[r] ?? String(r))),
            ...row.map((v, c) => cell(v, r, c)),
          ),
        ),
      ),
    ),
  );
}

/** Show the dot product of one query and one key, term by term. */
function dotProduct(q: readonly number[], k: readonly number[], names: [string, string]): HTMLElement {
  const shown = q.slice(0, 8).map((value, i) => `${fixed(value, 2)} · ${fixed(k[i]!, 2)}`);
  const rest = q.length > 8 ? ` + … (${q.length - 8} more terms)` : "";
  return h(
    "p",
    { class: "formula" },
    h("bdi", {}, names[0]),
    " · ",
    h("bdi", {}, names[1]),
    ` = ${shown.join(" + ")}${rest} = `,
    h("b", {}, fixed(dot(q, k), 3)),
  );
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

/** Return a function that says how a vector is computed: hidden state times a matrix, or the state itself. */
function wordsOf(store: Store): (matrix: string) => string {
  const { vectors } = store.state;
  return (matrix) => {
    if (vectors === "none") return "without parameters, its hidden state itself";
    return vectors === "random"
      ? `its hidden state times a random matrix ${matrix}`
      : `its hidden state times ${matrix}`;
  };
}

interface Step {
  title: string;
  sentence: string;
  body: () => HTMLElement[];
}

function stepsOf(store: Store, head: Head, values: Vectors): Step[] {
  const rows = rowTokens(store.capture, head);
  const columns = columnTokens(store.capture, head);
  const chain = chainOf(values, store.state);
  const { key } = chain;
  const words = wordsOf(store);
  const row = Math.max(0, Math.min(store.state.row, rows.length - 1));
  const column = Math.max(0, Math.min(store.state.column, columns.length - 1));
  const width = values.query[0]?.length ?? 0;
  const pick = (r: number, c: number) => store.update({ row: r, column: c });
  const softmax = softmaxSteps(chain.masked[row]!);
  const square = (matrix: Matrix, signed: boolean) =>
    matrixTable(matrix, { rows, columns }, { signed, picked: [row, column], pick });
  const line = (name: string, numbers: readonly number[]) =>
    matrixTable([numbers], { rows: [name], columns }, { signed: false, picked: [-1, -1] });
  const vectors = (matrix: Matrix, names: readonly string[], picked: number) => {
    const left = (matrix[0]?.length ?? 0) - mostFeatures;
    const few = left > 0 ? matrix.map((vector) => vector.slice(0, mostFeatures)) : matrix;
    const table = matrixTable(few, { rows: names }, { signed: true, picked: [picked, -1] });
    if (left > 0) table.append(h("p", { class: "quiet" }, `… and ${left} more numbers of each vector.`));
    return table;
  };
  const inputs = inputsOf(store.capture, head, store.state.vectors === "trained" || store.state.positions);
  const joined = joinedOutput(store.capture, head);
  /** Show the hidden states from which the queries (0) or keys (1) are computed. */
  const input = (side: 0 | 1, names: readonly string[], picked: number): HTMLElement[] => {
    const states = inputs?.[side];
    if (!states) return [];
    const size = states[0]?.length ?? 0;
    const from =
      side === 1 && head.kind === "cross" ? "the encoder's output" : "hidden states before this layer";
    return [
      h(
        "details",
        { class: "input-states" },
        h(
          "summary",
          {},
          `Input X: ${from} [${states.length}, ${size}]; ${side ? "W_K" : "W_Q"} is [${size}, ${width}]`,
        ),
        vectors(states, names, picked),
      ),
    ];
  };
  const ranked = columns.map((_, i) => i).sort((a, b) => chain.weights[row]![b]! - chain.weights[row]![a]!);
  const steps: Step[] = [
    {
      title: "Queries",
      sentence: `The query of a token is a vector of ${width} numbers: ${words("W_Q")}.`,
      body: () => [...input(0, rows, row), h("h4", {}, "Q"), vectors(values.query, rows, row)],
    },
    {
      title: "Keys",
      sentence: `The key of a token is a vector of the same size: ${store.state.sameQueryKey ? "here, its query" : words("W_K")}.`,
      body: () => [...input(1, columns, column), h("h4", {}, "K"), vectors(key, columns, column)],
    },
    {
      title: "Q Kᵀ",
      sentence: "The score of a query and a key is their dot product. Select a cell to see its terms.",
      body: () => [
        square(chain.raw, true),
        dotProduct(values.query[row]!, key[column]!, [rows[row]!, columns[column]!]),
        h("p", { class: "quiet" }, scoreFacts(chain.raw)),
      ],
    },
    {
      title: "Scale",
      sentence: `Scores grow with the length of the vectors; each is multiplied by ${fixed(chain.factor, 4)}${
        Math.abs(chain.factor - 1 / Math.sqrt(width)) < 1e-6 ? ` = 1/√${width}` : ""
      }.`,
      body: () => [square(chain.divided, true)],
    },
  ];
  if (values.causal)
    steps.push({
      title: "Mask",
      sentence: "A decoder must not attend to later tokens: their scores are replaced by −∞.",
      body: () => [square(chain.masked, true)],
    });
  steps.push(
    {
      title: "Maximum and exp",
      sentence: `The row's maximum is subtracted, so exp cannot overflow; then exp makes every number positive.`,
      body: () => [
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
        square(chain.weights, false),
        h("p", { class: "quiet" }, weightFacts(chain.weights)),
        ...agreement(store, head, chain),
      ],
    },
    {
      title: "Values",
      sentence: `The value of a token is the vector that the weighted sum reads: ${words("W_V")}.`,
      body: () => [vectors(values.value, columns, column)],
    },
    {
      title: "Weighted sum",
      sentence: `The output of a token is the sum of all value vectors, each times its weight. The largest part comes from “${columns[ranked[0]!]}”.`,
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
        vectors(chain.output, rows, row),
      ],
    },
  );
  if (joined)
    steps.push({
      title: "Heads joined, W_O",
      sentence: `The outputs of the ${joined.heads} heads are joined to one vector for each token and multiplied by W_O. The result is added to the hidden state. These are the numbers of the whole layer in the model.`,
      body: () => [vectors(joined.output, rows, row)],
    });
  return steps;
}

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

const sourceNames: Record<Source, string> = {
  trained: "trained parameters",
  random: "random parameters",
  none: "no parameters",
};

export function stepsView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "steps" });
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
  };
  const sources = () => {
    const select = h(
      "select",
      { "aria-label": "Parameters" },
      ...(Object.entries(sourceNames) as [Source, string][]).map(([source, name]) =>
        h("option", { value: source, selected: source === store.state.vectors }, name),
      ),
    );
    select.addEventListener("change", () => store.update({ vectors: select.value as Source }));
    return select;
  };
  const toggle = (label: string, key: "scaling" | "mask" | "sameQueryKey" | "positions") => {
    const box = h("input", { type: "checkbox" });
    box.checked = store.state[key];
    box.addEventListener("change", () => store.update({ [key]: box.checked }));
    return h("label", {}, box, ` ${label}`);
  };
  const draw = () => {
    if (store.state.view !== "steps") return stop();
    const head = store.current();
    const reason = cannotShow(vectorsOf(head));
    const values = chosenVectors(store.capture, head, store.state);
    if (reason) return node.replaceChildren(reason);
    if (!values)
      return node.replaceChildren(
        h("p", { class: "controls" }, sources()),
        h(
          "p",
          { class: "note" },
          "This capture has no inputs of this layer. Short texts have them with `attend --html`.",
        ),
      );
    const steps = stepsOf(store, head, values);
    const at = Math.min(store.state.step, steps.length - 1);
    const step = steps[at]!;
    const go = (to: number) => store.update({ step: Math.max(0, Math.min(steps.length - 1, to)) }, false);
    const button = (label: string, to: number) => {
      const b = h("button", { type: "button" }, label);
      b.addEventListener("click", () => go(to));
      return b;
    };
    const play = h("button", { type: "button" }, timer ? "Pause" : "Play");
    play.addEventListener("click", () => {
      if (timer) stop();
      else
        timer = window.setInterval(() => {
          if (store.state.step >= steps.length - 1) stop();
          else go(store.state.step + 1);
        }, 2500);
      draw();
    });
    node.replaceChildren(
      h(
        "ol",
        { class: "trail" },
        ...steps.map((each, i) => {
          const b = h("button", { type: "button", "aria-current": i === at ? "step" : "false" }, each.title);
          b.addEventListener("click", () => go(i));
          return h("li", {}, b);
        }),
      ),
      h(
        "div",
        { class: "controls" },
        button("Back", at - 1),
        play,
        button("Next", at + 1),
        sources(),
        toggle("scale", "scaling"),
        ...(values.causal ? [toggle("mask", "mask")] : []),
        toggle("K = Q", "sameQueryKey"),
        ...(store.state.vectors !== "trained" && positionsKnown(store.capture, head)
          ? [toggle("positions", "positions")]
          : []),
      ),
      h("h3", { class: "step" }, `${at + 1}. ${step.title}`),
      h("p", {}, step.sentence),
      ...step.body(),
    );
  };
  return { node, draw };
}
