// The view "Table": the weights as a table, for screen readers and for copying numbers.
import { columnTokens, headName, rowTokens } from "../capture";
import { h } from "../dom";
import type { Store } from "../store";
import { drawnWeights, sumOfRows, thumbnailOnly } from "../weights";

const most = 64;

export function tableView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "scroll", tabindex: 0 });
  const draw = () => {
    const head = store.current();
    const weights = drawnWeights(store);
    if (!weights) return node.replaceChildren(h("p", { class: "note" }, thumbnailOnly));
    const rows = rowTokens(store.capture, head).slice(0, most);
    const columns = columnTokens(store.capture, head).slice(0, most);
    const cut = rows.length < weights.length || columns.length < (weights[0]?.length ?? 0);
    const caption = [
      `${headName(head)}: weights in percent.`,
      sumOfRows(store),
      ...(cut ? [`The first ${most} rows and columns are shown; the CSV export has all.`] : []),
    ];
    node.replaceChildren(
      h(
        "table",
        {},
        h("caption", {}, h("span", {}, caption.join(" "))),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "token"),
            ...columns.map((token) => h("th", { scope: "col" }, token)),
          ),
        ),
        h(
          "tbody",
          {},
          ...rows.map((token, r) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, token),
              ...columns.map((_, c) => h("td", {}, (weights[r]![c]! * 100).toFixed(1))),
            ),
          ),
        ),
      ),
    );
  };
  return { node, draw };
}
