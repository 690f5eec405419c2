// Heat map of at most 64 × 64 cells that highlights the row and column under the pointer or focus.
import type { Matrix } from "../capture";
import { h, s, share } from "../dom";
import { largestOf } from "../math";

export const mostLinked = 64;

export interface LinkedMap {
  node: HTMLElement;
  /** Highlight a row and a column; −1: none. */
  light(row: number, column: number): void;
}

/** Calls `over(row, column)` when the pointer or focus enters a cell or label; −1: none. */
export function linkedMap(
  weights: Matrix,
  labels: { rows: readonly string[]; columns: readonly string[]; name: string },
  over: (row: number, column: number) => void,
): LinkedMap {
  const { rows, columns, name } = labels;
  const cell = Math.max(7, Math.min(36, Math.floor(430 / Math.max(columns.length, 1))));
  const size = Math.min(13, Math.max(8, cell - 3));
  const longest = Math.min(11, Math.max(3, ...columns.map((text) => [...text].length)));
  const edge = { left: 92, top: 16 + Math.round(0.6 * size * longest) };
  const [width, height] = [edge.left + columns.length * cell, edge.top + rows.length * cell];
  const cut = (text: string) => {
    const letters = [...new Intl.Segmenter().segment(text)].map((each) => each.segment);
    return letters.length > 11 ? `${letters.slice(0, 10).join("")}…` : text;
  };
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "group",
    "aria-label": name,
  });
  const rowTexts = rows.map((text, r) => {
    const node = s(
      "text",
      {
        x: edge.left - 8,
        y: edge.top + (r + 0.5) * cell + size * 0.35,
        "text-anchor": "end",
        tabindex: 0,
        role: "button",
        style: `font-size: ${size}px`,
      },
      cut(text),
    );
    node.addEventListener("pointerenter", () => over(r, -1));
    node.addEventListener("focus", () => over(r, -1));
    node.addEventListener("click", () => over(r, -1));
    return node;
  });
  const columnTexts = columns.map((text, c) => {
    const x = edge.left + (c + 0.5) * cell + size * 0.35;
    const y = edge.top - 8;
    const node = s(
      "text",
      { x, y, transform: `rotate(-90 ${x} ${y})`, style: `font-size: ${size}px` },
      cut(text),
    );
    node.addEventListener("pointerenter", () => over(-1, c));
    return node;
  });
  const drawn = weights.slice(0, rows.length).map((row) => row.slice(0, columns.length));
  const most = largestOf(drawn);
  const cells = drawn.flatMap((row, r) =>
    row.map((weight, c) => {
      const node = s(
        "rect",
        {
          class: "patch",
          x: edge.left + c * cell,
          y: edge.top + r * cell,
          width: cell - 1,
          height: cell - 1,
          "fill-opacity": (0.04 + (0.96 * weight) / most).toFixed(3),
        },
        s("title", {}, `${rows[r]} → ${columns[c]}: ${share(weight)}`),
      );
      node.addEventListener("pointerenter", () => over(r, c));
      return node;
    }),
  );
  const band = (vertical: boolean) => {
    const rect = s("rect", { class: "band", visibility: "hidden" });
    rect.setAttribute(vertical ? "y" : "x", "0");
    rect.setAttribute(vertical ? "height" : "width", String(vertical ? height : width));
    rect.setAttribute(vertical ? "width" : "height", String(cell));
    return rect;
  };
  const [across, down] = [band(false), band(true)];
  svg.append(...cells, across, down, ...rowTexts, ...columnTexts);
  svg.addEventListener("pointerleave", () => over(-1, -1));
  return {
    node: h("div", { class: "scroll", tabindex: 0 }, svg),
    light: (row, column) => {
      rowTexts.forEach((node, r) => node.classList.toggle("picked", r === row));
      columnTexts.forEach((node, c) => node.classList.toggle("picked", c === column));
      across.setAttribute("visibility", row < 0 ? "hidden" : "visible");
      down.setAttribute("visibility", column < 0 ? "hidden" : "visible");
      if (row >= 0) across.setAttribute("y", String(edge.top + row * cell));
      if (column >= 0) down.setAttribute("x", String(edge.left + column * cell));
    },
  };
}
