// The line view: lines between queries and keys. Several heads have different colours.
import { columnTokens, headKey, headName, rowTokens, weightsOf } from "../capture";
import { h, overlayColour, s } from "../dom";
import type { Store } from "../store";
import { drawnWeights, scaleMaximum, thumbnailOnly } from "../weights";

const rowHeight = 26;
const most = 400; // most tokens on each side; more are not drawn
const least = 0.03; // smallest opacity of a drawn line
const mostOfRow = 3; // lines drawn per row in long texts

/** Return the columns of a row that are drawn: weights from `bound` on; in long texts only the largest ones. */
function drawnColumns(row: readonly number[], bound: number, long: boolean): number[] {
  const all = row.map((_, c) => c).filter((c) => row[c]! >= bound);
  return long ? all.sort((a, b) => row[b]! - row[a]!).slice(0, mostOfRow) : all;
}

export function linesView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "lines" });
  const draw = () => {
    const head = store.current();
    const rows = rowTokens(store.capture, head).slice(0, most);
    const columns = columnTokens(store.capture, head).slice(0, most);
    const overlaid = store.capture.attention.filter(
      (other) =>
        store.state.overlay.includes(headKey(other)) &&
        other.kind === head.kind &&
        headKey(other) !== headKey(head),
    );
    const long = rows.length > 64;
    const layers = [head, ...overlaid].filter((layer) => layer.weights);
    if (!head.weights) return node.replaceChildren(h("p", { class: "note" }, thumbnailOnly));
    const width = Math.min(760, Math.max(300, node.clientWidth));
    const [left, right] = [width * 0.3, width * 0.7];
    const height = Math.max(rows.length, columns.length) * rowHeight + 44;
    const y = (index: number) => 40 + index * rowHeight;
    const svg = s("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": `Lines: ${headName(head)}`,
    });
    svg.append(
      s(
        "text",
        { x: left - 10, y: 16, "text-anchor": "end", class: "head" },
        head.kind === "cross" ? "generated" : "token",
      ),
    );
    svg.append(s("text", { x: right + 10, y: 16, class: "head" }, "attends to"));
    layers.forEach((layer, index) => {
      const weights = index === 0 ? drawnWeights(store)! : weightsOf(layer)!;
      const scale = scaleMaximum(store, weights);
      rows.forEach((_, r) => {
        if (store.state.row >= 0 && store.state.row !== r) return;
        for (const c of drawnColumns(weights[r]!.slice(0, most), least * scale, long)) {
          const weight = weights[r]![c]! / scale;
          const middle = (left + right) / 2;
          svg.append(
            s("path", {
              d: `M${left},${y(r)}C${middle},${y(r)} ${middle},${y(c)} ${right},${y(c)}`,
              fill: "none",
              stroke: overlayColour(index),
              "stroke-width": 0.6 + (long ? 0.8 : 4) * weight,
              "stroke-opacity": (0.12 + (long ? 0.5 : 0.88) * weight).toFixed(3),
            }),
          );
        }
      });
    });
    const room = left - 14;
    const cut = (token: string) => {
      const letters = [...token];
      return letters.length * 8.2 > room
        ? `${letters.slice(0, Math.floor(room / 8.2) - 1).join("")}…`
        : token;
    };
    rows.forEach((token, r) => {
      const text = s(
        "text",
        {
          x: left - 10,
          y: y(r) + 5,
          "text-anchor": "end",
          tabindex: 0,
          role: "button",
          class: r === store.state.row ? "picked" : "",
        },
        cut(token),
      );
      const pick = () => store.update({ row: store.state.row === r ? -1 : r, column: -1 });
      text.addEventListener("click", pick);
      text.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          event.stopPropagation();
          pick();
        }
      });
      svg.append(text);
    });
    columns.forEach((token, c) => svg.append(s("text", { x: right + 10, y: y(c) + 5 }, cut(token))));
    const legend = layers.map((layer, index) =>
      h("span", {}, h("i", { style: `background: ${overlayColour(index)}` }), headName(layer)),
    );
    node.replaceChildren(...(layers.length > 1 ? [h("p", { class: "legend" }, ...legend)] : []), svg);
    if (long)
      node.append(
        h(
          "p",
          { class: "quiet" },
          `Of each token, the ${mostOfRow} largest weights are drawn. `,
          rows.length === most || columns.length === most
            ? `The first ${most} tokens are drawn; the heat map has all.`
            : "",
        ),
      );
  };
  return { node, draw };
}
