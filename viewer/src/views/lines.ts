// The line view: lines between queries and keys. Several heads have different colours.
import { columnTokens, type Head, headKey, headName, rowTokens } from "../capture";
import { h, overlayColour, redraw, s } from "../dom";
import { shortenedLabel } from "../labels";
import type { Store } from "../store";
import { drawnWeights, scaleMaximum, thumbnailOnly } from "../weights";

const rowHeight = 26;
const most = 400; // maximum number of tokens on each side; further tokens are not drawn
const least = 0.03; // smallest opacity of a drawn line
const mostOfRow = 3; // maximum number of lines per row in long texts

/** Return the columns of a row that are drawn: weights from `bound` on; in long texts only the largest ones. */
function drawnColumns(row: readonly number[], bound: number, long: boolean): number[] {
  const all = row.map((_, c) => c).filter((c) => row[c]! >= bound);
  return long ? all.sort((a, b) => row[b]! - row[a]!).slice(0, mostOfRow) : all;
}

/** The legend of the drawn heads, and a list that adds another head of the same kind. */
function overlayPart(store: Store, head: Head, layers: readonly Head[]): HTMLElement {
  const { overlay } = store.state;
  const entry = (layer: Head, index: number) => {
    const swatch = h("i", { style: `background: ${overlayColour(index)}` });
    if (index === 0) return h("span", {}, swatch, headName(layer));
    const remove = h(
      "button",
      { type: "button", class: "plain", "aria-label": `Remove ${headName(layer)}`, title: "Remove" },
      "×",
    );
    remove.addEventListener("click", () =>
      store.update({ overlay: overlay.filter((key) => key !== headKey(layer)) }),
    );
    return h("span", {}, swatch, headName(layer), remove);
  };
  const others = store.capture.attention.filter(
    (other) => other.kind === head.kind && other.weights && !layers.includes(other),
  );
  const add = h(
    "select",
    { "aria-label": "Draw another head" },
    h("option", { value: "" }, "Draw another head…"),
    ...others.map((other) => h("option", { value: headKey(other) }, headName(other))),
  );
  add.addEventListener("change", () => add.value && store.update({ overlay: [...overlay, add.value] }));
  return h(
    "div",
    { class: "legend" },
    ...(layers.length > 1 ? layers.map(entry) : []),
    ...(others.length > 0 ? [add] : []),
  );
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
    const picked = store.state.row < rows.length ? store.state.row : -1; // −1: all rows are drawn
    const count = Math.max(rows.length, columns.length);
    const long = count > 64;
    const layers = [head, ...overlaid].filter((layer) => layer.weights);
    if (!head.weights) return node.replaceChildren(h("p", { class: "note" }, thumbnailOnly));
    const width = Math.min(760, Math.max(300, node.clientWidth));
    const [left, right] = width < 500 ? [width * 0.34, width * 0.66] : [width * 0.3, width * 0.7];
    const height = count * rowHeight + 44;
    // In long texts, the tokens of the shorter side are spread over the height, so that a token is opposite
    // the tokens at its relative position.
    const spread = (tokens: number) => (index: number) =>
      40 + (long ? ((index + 0.5) * count) / tokens - 0.5 : index) * rowHeight;
    const [rowAt, columnAt] = [spread(rows.length), spread(columns.length)];
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
      const weights = drawnWeights(store, layer)!;
      const scale = scaleMaximum(store, weights);
      rows.forEach((_, r) => {
        if (picked >= 0 && picked !== r) return;
        for (const c of drawnColumns(weights[r]!.slice(0, most), least * scale, long)) {
          const weight = weights[r]![c]! / scale;
          const middle = (left + right) / 2;
          svg.append(
            s("path", {
              d: `M${left},${rowAt(r)}C${middle},${rowAt(r)} ${middle},${columnAt(c)} ${right},${columnAt(c)}`,
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
    const fontSize = width < 500 ? 13 : 14;
    const cut = (token: string) => shortenedLabel(token, fontSize, room);
    rows.forEach((token, r) => {
      const text = s(
        "text",
        {
          x: left - 10,
          y: rowAt(r) + 5,
          style: `font-size: ${fontSize}px`,
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
    columns.forEach((token, c) =>
      svg.append(
        s("text", { x: right + 10, y: columnAt(c) + 5, style: `font-size: ${fontSize}px` }, cut(token)),
      ),
    );
    redraw(node, overlayPart(store, head, layers), svg);
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
