// The panel beside the views: description of the shown head, weights of the selected token, sums over chosen tokens.
import {
  type Capture,
  columnTokens,
  distanceUnit,
  type Head,
  headName,
  rowSide,
  rowTokens,
} from "../capture";
import { fixed, h, share } from "../dom";
import { sumsOver } from "../math";
import { wholeCharacter } from "../tokens";
import type { Store } from "../store";
import { drawnWeights } from "../weights";

function bar(name: string, weight: number, picked = false): HTMLElement {
  return h(
    "li",
    picked ? { class: "picked" } : {},
    h("bdi", {}, name),
    h("span", { class: "bar" }, h("i", { style: `width: ${(100 * Math.min(1, weight)).toFixed(2)}%` })),
    h("span", { class: "number" }, share(weight)),
  );
}

function about(capture: Capture, head: Head): HTMLElement[] {
  const facts = [`entropy ${fixed(head.entropy, 2)} bits`];
  if (head.distance !== undefined)
    facts.push(`mean distance ${fixed(head.distance, 1)} ${distanceUnit(capture, head)}`);
  facts.push(`kind: ${head.pattern}`);
  return [
    h("h2", {}, headName(head)),
    h("p", {}, head.caption),
    h("p", { class: "quiet" }, facts.join(" · ")),
  ];
}

/**
 * Return the columns whose weights the panel lists: the largest eight, the largest first, and the selected one. `rest` is
 * the largest weight of the others; undefined if there are none.
 */
export function listedColumns(
  weights: readonly number[],
  column: number,
): { shown: number[]; rest: number | undefined } {
  const order = weights.map((_, i) => i).sort((a, b) => weights[b]! - weights[a]!);
  const shown = order.slice(0, 8);
  if (column >= 0 && !shown.includes(column)) shown.push(column);
  const next = order.find((c) => !shown.includes(c));
  return { shown, rest: next === undefined ? undefined : weights[next] };
}

/** Show the largest weights of the selected row. */
function rowReadout(store: Store, head: Head): HTMLElement[] {
  const { row, column } = store.state;
  const tokens = rowTokens(store.capture, head);
  const weights = drawnWeights(store)?.[row];
  if (!weights || row >= tokens.length)
    return [
      h(
        "p",
        { class: "quiet" },
        "Select a token or a cell to read its weights. Select tokens at the top of the heat map to sum over them.",
      ),
    ];
  const names = columnTokens(store.capture, head);
  const { shown, rest } = listedColumns(weights, column);
  const side = rowSide(store.capture, head);
  const whole = side && wholeCharacter(side, row);
  return [
    h("h3", {}, h("bdi", {}, tokens[row]!), " attends to"),
    ...(whole ? [h("p", { class: "quiet" }, "A part of ", h("bdi", {}, whole), ".")] : []),
    h("ol", { class: "bars" }, ...shown.map((i) => bar(names[i]!, weights[i]!, i === column))),
    ...(rest === undefined
      ? []
      : [
          h(
            "p",
            { class: "quiet" },
            rest > 0 ? `Each of the others has at most ${share(rest)}.` : "The others have 0 %.",
          ),
        ]),
  ];
}

/** Show for each row the sum of its weights on the chosen columns. */
function sumReadout(store: Store, head: Head): HTMLElement[] {
  const weights = drawnWeights(store);
  const { chosen } = store.state;
  if (!weights || chosen.length === 0) return [];
  const names = columnTokens(store.capture, head);
  const rows = rowTokens(store.capture, head);
  const sums = sumsOver(weights, chosen);
  const order = rows.map((_, i) => i);
  if (rows.length > 12) order.sort((a, b) => sums[b]! - sums[a]!).splice(12);
  const clear = h("button", { type: "button", class: "small" }, "Clear");
  clear.addEventListener("click", () => store.update({ chosen: [] }));
  return [
    h("h3", {}, "Sum over ", h("bdi", {}, chosen.map((c) => names[c]).join(" + "))),
    h("ol", { class: "bars" }, ...order.map((r) => bar(rows[r]!, sums[r]!))),
    clear,
  ];
}

export function panelView(store: Store): { node: HTMLElement; draw: () => void } {
  const readout = h("div", { role: "status", "aria-live": "polite" });
  const words = h("div");
  const draw = () => {
    const head = store.current();
    words.replaceChildren(...about(store.capture, head));
    readout.replaceChildren(...rowReadout(store, head), ...sumReadout(store, head));
  };
  return { node: h("aside", { class: "panel" }, words, readout), draw };
}
