// What the shown head does, in words, and the weights of the selected token.
import { columnTokens, headName, rowTokens } from "../capture";
import { fixed, h } from "../dom";
import type { Store } from "../store";
import { drawnWeights } from "./heatmap";

export function panelView(store: Store): { node: HTMLElement; draw: () => void } {
  const readout = h("div", { role: "status", "aria-live": "polite" });
  const about = h("div");
  const draw = () => {
    const head = store.current();
    const facts: string[] = [];
    if (head.entropy !== undefined) facts.push(`entropy ${fixed(head.entropy, 2)} bits`);
    if (head.distance !== undefined && head.kind !== "cross")
      facts.push(`mean distance ${fixed(head.distance, 1)} tokens`);
    about.replaceChildren(
      h("h2", {}, headName(head)),
      ...(head.caption ? [h("p", {}, head.caption)] : []),
      ...(facts.length > 0 ? [h("p", { class: "quiet" }, facts.join(", "))] : []),
    );
    const { row, column } = store.state;
    const tokens = rowTokens(store.capture, head);
    if (row < 0 || row >= tokens.length) {
      readout.replaceChildren(h("p", { class: "quiet" }, "Select a token or a cell to read its weights."));
      return;
    }
    const weights = drawnWeights(store)[row]!;
    const names = columnTokens(store.capture, head);
    const order = weights.map((_, i) => i).sort((a, b) => weights[b]! - weights[a]!);
    const shown = order.slice(0, 8);
    if (column >= 0 && !shown.includes(column)) shown.push(column);
    readout.replaceChildren(
      h("h3", {}, h("bdi", {}, tokens[row]!), " attends to"),
      h(
        "ol",
        { class: "bars" },
        ...shown.map((i) =>
          h(
            "li",
            i === column ? { class: "picked" } : {},
            h("bdi", {}, names[i]!),
            h("span", { class: "bar" }, h("i", { style: `width: ${(100 * weights[i]!).toFixed(2)}%` })),
            h("span", { class: "number" }, `${(100 * weights[i]!).toFixed(1)} %`),
          ),
        ),
      ),
      ...(order.length > shown.length
        ? [h("p", { class: "quiet" }, `${order.length - shown.length} further tokens have less each.`)]
        : []),
    );
  };
  return { node: h("aside", { class: "panel" }, about, readout), draw };
}
