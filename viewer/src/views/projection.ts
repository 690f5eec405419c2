// The steps that multiply by trained parameters: X W_Q, X W_K, X W_V, and the joined heads times W_O.
import { type Head, headKey, type Matrix } from "../capture";
import { fixed, h } from "../dom";
import { dot, largestDifference, product } from "../math";
import { agrees, applied, type Factors, factorsOf, layerOutput, type Part } from "../projections";
import type { Store } from "../store";
import { framedImage, shownFeatures, termTable, vectorTable } from "./matrix";
import type { Step } from "./step_list";

const letters: Record<Part, string> = { query: "Q", key: "K", value: "V" };

function column(matrix: Matrix, index: number): number[] {
  return matrix.map((row) => row[index]!);
}

/** Σ a_i b_i + bias = result, with the largest terms in numbers. */
function sumLine(
  name: (string | Node)[],
  a: readonly number[],
  b: readonly number[],
  bias: number | undefined,
): HTMLElement {
  const order = a.map((_, i) => i).sort((i, j) => Math.abs(a[j]! * b[j]!) - Math.abs(a[i]! * b[i]!));
  const terms = order.slice(0, 4).map((i) => `${fixed(a[i]!, 2)} · ${fixed(b[i]!, 2)}`);
  const more = a.length > 4 ? ` + … (${a.length - 4} more terms)` : "";
  const added = bias === undefined ? "" : ` + ${fixed(bias, 3)} (bias)`;
  return h(
    "p",
    { class: "formula" },
    ...name,
    ` = ${terms.join(" + ")}${more}${added} = `,
    h("b", {}, fixed(dot(a, b) + (bias ?? 0), 3)),
  );
}

/** X W = Y in pictures. The framed row of X is multiplied by the framed column of W. */
function equation(parts: { left: HTMLElement; right: HTMLElement; bias: boolean; result: HTMLElement }) {
  const sign = (text: string) => h("span", { class: "sign" }, text);
  return h(
    "div",
    { class: "equation" },
    parts.left,
    sign("·"),
    parts.right,
    ...(parts.bias ? [sign("+ bias")] : []),
    sign("="),
    parts.result,
  );
}

function picked(store: Store, size: number): number {
  return Math.min(store.state.feature, shownFeatures(size) - 1);
}

/** Say why the matrix is missing. */
function missing(matrix: string): HTMLElement {
  return h(
    "p",
    { class: "quiet" },
    `This capture does not hold ${matrix} of this head. The header says what was left out to limit the size.`,
  );
}

function difference(computed: Matrix, model: Matrix, formula: string, name: string): HTMLElement {
  if (agrees(computed, model))
    return h(
      "p",
      { class: "quiet" },
      `${formula} is the model's own ${name}: largest difference ${largestDifference(computed, model).toExponential(1)}.`,
    );
  return h(
    "p",
    { class: "note" },
    `The model changes this vector after the product: it normalises it, or rotates it by its position. Its ${name} follows below.`,
  );
}

/** The body of “Queries”, “Keys” and “Values”. `row`: of the selected token. */
export function projectionBody(
  store: Store,
  head: Head,
  part: Part,
  { shown, names, row }: { shown: Matrix; names: readonly string[]; row: number },
): HTMLElement[] {
  const letter = letters[part];
  const factors: Factors | undefined = factorsOf(store.capture, head, part, store.state);
  if (!factors)
    return [
      vectorTable(shown, names, [row, -1], { name: letter }),
      ...(store.state.vectors === "trained" ? [missing(`W_${letter}`)] : []),
    ];
  const { input, weight, bias } = factors;
  const computed = applied(factors);
  const feature = picked(store, computed[0]?.length ?? 1);
  const side = part === "query" ? "row" : "column";
  const pick = (r: number, c: number) => store.update({ [side]: r, feature: c });
  const terms = column(weight, feature);
  const same = agrees(computed, shown);
  const from = part !== "query" && head.kind === "cross" ? "encoder's output" : "X";
  const formula = `${from} W_${letter}${bias ? " + bias" : ""}`;
  return [
    equation({
      left: framedImage(input, from, { row }),
      right: framedImage(weight, `W_${letter}`, { column: feature }),
      bias: bias !== undefined,
      result: framedImage(computed, same ? letter : formula, { row }),
    }),
    vectorTable(computed, names, [row, feature], { pick, name: same ? letter : formula }),
    sumLine([`${letter}(`, h("bdi", {}, names[row]!), `, ${feature})`], input[row]!, terms, bias?.[feature]),
    termTable(input[row]!, terms, [`${from} of ${names[row]}`, `W_${letter}, column ${feature}`]),
    difference(computed, shown, formula, letter),
    ...(same ? [] : [h("h4", {}, letter), vectorTable(shown, names, [row, -1])]),
  ];
}

/** The step “Heads joined”, or undefined if the capture has the vectors of no head of the layer. */
export function joinedBody(store: Store, head: Head, rows: readonly string[], row: number): Step | undefined {
  const { heads, count } = layerOutput(store.capture, head);
  const known = heads.filter((each) => each.output);
  if (known.length === 0 || head.head === undefined) return undefined;
  const size = known[0]!.output![0]?.length ?? 0;
  return {
    title: "Heads joined",
    sentence: `The outputs of the ${count} heads of a token stand one after another: a vector of ${count * size} numbers.`,
    body: () => [
      h("p", { class: "quiet" }, "Outputs for ", h("bdi", {}, rows[row]!), ", one head in each line."),
      vectorTable(
        known.map((each) => each.output![row]!),
        known.map((each) => `head ${each.head.head}`),
        [known.findIndex((each) => headKey(each.head) === headKey(head)), -1],
        { name: "Joined heads" },
      ),
      ...(known.length < count
        ? [h("p", { class: "quiet" }, "The vectors of the other heads are left out.")]
        : []),
    ],
  };
}

/** Of one number of the layer's output: the part of each head, and the bias. */
function partsLine(store: Store, head: Head, name: string, row: number, feature: number): HTMLElement[] {
  const { heads, count, output, bias } = layerOutput(store.capture, head);
  const parts = heads.flatMap(({ head, output, weight }) =>
    output && weight ? [{ head, part: dot(output[row]!, column(weight, feature)) }] : [],
  );
  const added = bias?.[feature] ?? 0;
  const known = parts.reduce((sum, { part }) => sum + part, added);
  const total = output?.[row]?.[feature];
  const complete = parts.length === count;
  if (total === undefined && !complete) return [];
  const rest = complete ? [] : [` + ${fixed(total! - known, 3)} (other heads)`];
  const line = h(
    "p",
    { class: "formula" },
    "Output(",
    h("bdi", {}, name),
    `, ${feature}) = `,
    ...parts.map(({ head, part }, i) => `${i > 0 ? " + " : ""}${fixed(part, 3)} (head ${head.head})`),
    ...rest,
    ...(bias ? [` + ${fixed(added, 3)} (bias)`] : []),
    " = ",
    h("b", {}, fixed(complete ? known : total!, 3)),
  );
  if (!complete || total === undefined) return [line];
  const same = Math.abs(known - total) < 1e-2 * Math.max(1, Math.abs(total));
  return [
    line,
    h(
      "p",
      { class: same ? "quiet" : "note" },
      same
        ? `The model's own number: ${fixed(total, 3)}.`
        : `The model's own number is ${fixed(total, 3)}: it changes the sum afterwards, for example by a norm.`,
    ),
  ];
}

/** The step “W_O”, or undefined if the capture has neither the layer's output nor W_O. */
export function outputBody(store: Store, head: Head, rows: readonly string[], row: number): Step | undefined {
  const { heads, output } = layerOutput(store.capture, head);
  const own = heads.find((each) => headKey(each.head) === headKey(head));
  if (!output && !own?.weight) return undefined;
  const size = output?.[0]?.length ?? own?.weight?.[0]?.length ?? 1;
  const feature = picked(store, size);
  const pick = (r: number, c: number) => store.update({ row: r, feature: c });
  return {
    title: "W_O",
    sentence: `The joined vector is multiplied by W_O. The result is added to the hidden state. The output of each head is multiplied by its own rows of W_O.`,
    body: () => [
      ...(own?.weight && own.output
        ? [
            equation({
              left: framedImage(own.output, `head ${head.head}`, { row }),
              right: framedImage(own.weight, `its rows of W_O`, { column: feature }),
              bias: false,
              result: framedImage(product(own.output, own.weight), "its part of the output", { row }),
            }),
          ]
        : []),
      ...(output
        ? [
            vectorTable(output, rows, own?.weight ? [row, feature] : [row, -1], {
              ...(own?.weight ? { pick } : {}),
              name: "Output of the layer",
            }),
          ]
        : []),
      ...(own?.weight && own.output
        ? [
            ...partsLine(store, head, rows[row]!, row, feature),
            sumLine([`head ${head.head}`], own.output[row]!, column(own.weight, feature), undefined),
            termTable(own.output[row]!, column(own.weight, feature), [
              `output of head ${head.head}`,
              `W_O, column ${feature}`,
            ]),
          ]
        : [missing("W_O")]),
    ],
  };
}
