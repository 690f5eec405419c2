// The view "Neurons": query and keys of one head, feature by feature, with their products.
import { columnTokens, rowTokens } from "../capture";
import { css, fixed, h, redraw, share } from "../dom";
import { vectorsOf } from "../chain";
import { dot, largestOf } from "../math";
import { modelWeights } from "../projections";
import type { Store } from "../store";
import { cannotShow } from "./steps";

const stripWidth = 220;

/** Draw a vector as a row of coloured cells: blue for positive numbers, orange for negative ones. */
export function strip(vector: readonly number[], largest: number, label: string): HTMLCanvasElement {
  const canvas = h("canvas", {
    width: stripWidth,
    height: 18,
    class: "strip",
    role: "img",
    "aria-label": label,
    title: label,
  });
  const context = canvas.getContext("2d")!;
  const width = stripWidth / vector.length;
  const [positive, negative] = [css("--accent"), css("--negative")];
  vector.forEach((value, i) => {
    context.globalAlpha = Math.min(1, Math.abs(value) / largest) || 0; // 0 for NaN
    context.fillStyle = value < 0 ? negative : positive;
    context.fillRect(i * width, 0, Math.max(1, width - (width > 4 ? 1 : 0)), 18);
  });
  return canvas;
}

export function neuronsView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "neurons" });
  const draw = () => {
    if (store.state.view !== "neurons") return;
    const head = store.current();
    const vectors = vectorsOf(head);
    const reason = cannotShow(vectors);
    if (!vectors || reason) return node.replaceChildren(reason ?? "");
    const rows = rowTokens(store.capture, head);
    const columns = columnTokens(store.capture, head);
    const row = Math.max(0, Math.min(store.state.row, rows.length - 1));
    const query = vectors.query[row]!;
    const products = vectors.key.map((key) => query.map((q, i) => q * key[i]!));
    const offset = vectors.key.length - vectors.query.length;
    const scores = vectors.key.map((key, c) =>
      vectors.causal && c > row + offset ? -Infinity : dot(query, key) * vectors.scale,
    );
    const { weights: all, explained } = modelWeights(head, vectors);
    const weights = all[row]!;
    const best = weights.indexOf(Math.max(...weights));
    const column = store.state.column >= 0 ? Math.min(store.state.column, columns.length - 1) : best;
    const sizes = { key: largestOf(vectors.key), product: largestOf(products), query: largestOf([query]) };
    const chooser = h(
      "select",
      { "aria-label": "Query token" },
      ...rows.map((token, r) => h("option", { value: r, ...(r === row ? { selected: true } : {}) }, token)),
    );
    chooser.addEventListener("change", () => store.update({ row: Number(chooser.value) }));
    const line = (c: number) => {
      const name = columns[c]!;
      const pick = h(
        "button",
        { type: "button", class: "plain", "data-key": `key ${c}` },
        h("bdi", {}, name),
      );
      pick.addEventListener("click", () => store.update({ row, column: c }));
      return h(
        "tr",
        c === column ? { class: "picked" } : {},
        h("th", { scope: "row" }, pick),
        h("td", {}, strip(vectors.key[c]!, sizes.key, `key of ${name}`)),
        h("td", {}, strip(products[c]!, sizes.product, `query times key of ${name}`)),
        h("td", {}, fixed(scores[c]!, 2)),
        h("td", {}, share(weights[c]!)),
      );
    };
    const order = query
      .map((_, i) => i)
      .sort((a, b) => Math.abs(products[column]![b]!) - Math.abs(products[column]![a]!));
    const terms = order.slice(0, 12);
    const rest = order.slice(12).reduce((sum, i) => sum + products[column]![i]!, 0);
    redraw(
      node,
      h(
        "p",
        {},
        "The score of a query and a key is the sum of their products, feature by feature. Query of ",
        chooser,
      ),
      h("p", {}, strip(query, sizes.query, `query of ${rows[row]!}`), " query"),
      h(
        "div",
        { class: "scroll", tabindex: 0 },
        h(
          "table",
          { class: "strips" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...["key of", "key", "query × key", "sum · scale", "weight"].map((title) =>
                h("th", { scope: "col" }, title),
              ),
            ),
          ),
          h("tbody", {}, ...columns.map((_, c) => line(c))),
        ),
      ),
      ...(explained
        ? []
        : [
            h(
              "p",
              { class: "note" },
              "The weights are not the softmax of these sums: the model adds something to the scores that is not shown here, such as a position bias.",
            ),
          ]),
      h("h3", {}, h("bdi", {}, rows[row]!), " · ", h("bdi", {}, columns[column]!), ", largest products"),
      h(
        "div",
        { class: "scroll", tabindex: 0 },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...["feature", "query", "key", "product"].map((title) => h("th", { scope: "col" }, title)),
            ),
          ),
          h(
            "tbody",
            {},
            ...terms.map((i) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, String(i)),
                h("td", {}, fixed(query[i]!)),
                h("td", {}, fixed(vectors.key[column]![i]!)),
                h("td", {}, fixed(products[column]![i]!)),
              ),
            ),
          ),
        ),
      ),
      h(
        "p",
        { class: "formula" },
        order.length > 12
          ? `The other ${order.length - 12} products sum to ${fixed(rest)}; all of them to `
          : "The products sum to ",
        h("b", {}, fixed(dot(query, vectors.key[column]!))),
        `, times the scale ${fixed(vectors.scale, 4)}.`,
      ),
    );
  };
  return { node, draw };
}
