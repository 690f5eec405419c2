// The heat map of one head, on a canvas that draws only the visible cells (for 2,048 tokens).
import { columnTokens, type Head, headName, rowTokens } from "../capture";
import { rgbOf, textOn } from "../colour";
import { css, h, percent } from "../dom";
import { labelFont, shortened } from "../labels";
import { rowsOf } from "../packed";
import type { Store } from "../store";
import { drawnWeights, scaleLabel, scaleMaximum, thumbnailOnly } from "../weights";

/** Return the space for the labels in pixels. It is smaller on narrow screens. */
function margins(width: number, rows: readonly string[]): { left: number; top: number } {
  const longest = Math.max(3, ...rows.slice(0, 400).map((token) => [...token].length));
  return {
    left: Math.min(width < 500 ? 96 : 140, Math.max(88, 22 + 8.5 * longest)),
    top: width < 500 ? 84 : 104,
  };
}

export interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  cell: number;
}

/** Draw into `context` the part of the map whose top left corner is (left, top), in CSS pixels. */
export function paint(context: CanvasRenderingContext2D, store: Store, frame: Frame): void {
  const { left, top, width, height, cell } = frame;
  const head = store.current();
  const weights = drawnWeights(store);
  const rows = rowTokens(store.capture, head);
  const columns = columnTokens(store.capture, head);
  if (!weights) return;
  const margin = margins(width, rows);
  const maximum = scaleMaximum(store, weights);
  const [ink, quiet, paper, accent, onAccent] = [
    "--ink",
    "--quiet",
    "--paper",
    "--accent",
    "--on-accent",
  ].map(css) as [string, string, string, string, string];
  context.fillStyle = paper;
  context.fillRect(0, 0, width, height);
  const first = { row: Math.max(0, Math.floor(top / cell)), column: Math.max(0, Math.floor(left / cell)) };
  const last = {
    row: Math.min(rows.length, Math.ceil((top + height - margin.top) / cell)),
    column: Math.min(columns.length, Math.ceil((left + width - margin.left) / cell)),
  };
  const gap = cell >= 12 ? 1 : 0;
  const numbers = cell >= 24;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.font = `${cell >= 30 ? 12 : 10}px ${labelFont}`;
  context.fillStyle = accent;
  // A canvas ignores the opacity NaN and keeps that of the cell before.
  const opacity = (weight: number) => 0.04 + (weight > 0 ? 0.96 * Math.min(1, weight / maximum) : 0);
  for (let r = first.row; r < last.row; ++r)
    for (let c = first.column; c < last.column; ++c) {
      context.globalAlpha = opacity(weights[r]![c]!);
      context.fillRect(margin.left + c * cell - left, margin.top + r * cell - top, cell - gap, cell - gap);
    }
  context.globalAlpha = 1;
  if (numbers)
    for (let r = first.row; r < last.row; ++r)
      for (let c = first.column; c < last.column; ++c) {
        const weight = weights[r]![c]!;
        if (weight === 0) continue;
        context.fillStyle = textOn(opacity(weight), { ink, paper, accent, onAccent });
        context.fillText(
          percent(weight),
          margin.left + c * cell - left + (cell - gap) / 2,
          margin.top + r * cell - top + (cell - gap) / 2,
        );
      }
  const { row, column, chosen } = store.state;
  context.strokeStyle = ink;
  context.lineWidth = 1.5;
  if (row >= 0 && row < rows.length)
    context.strokeRect(margin.left - left, margin.top + row * cell - top - 0.5, columns.length * cell, cell);
  for (const c of new Set([column, ...chosen]))
    if (c >= 0)
      context.strokeRect(margin.left + c * cell - left - 0.5, margin.top - top, cell, rows.length * cell);
  context.fillStyle = paper;
  context.fillRect(0, 0, width, margin.top);
  context.fillRect(0, 0, margin.left, height);
  context.font = `${Math.min(14, Math.max(8, cell - 2))}px ${labelFont}`;
  context.textAlign = "right";
  const every = cell < 9 ? Math.ceil(9 / cell) : 1;
  for (let r = first.row; r < last.row; ++r) {
    const y = margin.top + (r + 0.5) * cell - top;
    if (r % every !== 0 || y < margin.top) continue;
    context.fillStyle = r === row ? accent : ink;
    context.fillText(shortened(context, rows[r]!, margin.left - 14), margin.left - 8, y);
  }
  context.textAlign = "left";
  for (let c = first.column; c < last.column; ++c) {
    const x = margin.left + (c + 0.5) * cell - left;
    if (x < margin.left || c % every !== 0) continue;
    context.save();
    context.translate(x, margin.top - 8);
    context.rotate(-Math.PI / 2);
    context.fillStyle = c === column || chosen.includes(c) ? accent : ink;
    context.fillText(shortened(context, columns[c]!, margin.top - 14), 0, 0);
    context.restore();
  }
  context.fillStyle = paper;
  context.fillRect(0, 0, margin.left, margin.top);
  context.fillStyle = quiet;
  context.font = `12px ${labelFont}`;
  context.textAlign = "right";
  context.fillText("attends to →", margin.left - 8, margin.top - 26);
  context.fillText(head.kind === "cross" ? "generated ↓" : "token ↓", margin.left - 8, margin.top - 8);
}

/** Create the colour scale of the heat map. */
function legend(): { node: HTMLElement; draw: (store: Store) => void } {
  const largest = h("span");
  const node = h(
    "p",
    { class: "scale quiet" },
    h("span", {}, "0 %"),
    h("i", { "aria-hidden": "true" }),
    largest,
    h("span", { class: "note-precision" }),
  );
  return {
    node,
    draw: (store) => {
      const weights = drawnWeights(store);
      const maximum = weights ? scaleMaximum(store, weights) : 1;
      largest.textContent = scaleLabel(store, maximum);
    },
  };
}

/** Draw a head's thumbnail with one pixel per cell; CSS enlarges it. The largest weight has the full colour. */
export function thumbnailOf(head: Head, attributes: Record<string, string> = {}): HTMLCanvasElement {
  const cells = rowsOf(head.thumbnail);
  const [down, across] = [Math.max(1, cells.length), Math.max(1, cells[0]?.length ?? 0)];
  const canvas = h("canvas", { width: across, height: down, ...attributes });
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const [red, green, blue] = rgbOf(css("--accent"));
  const image = context.createImageData(across, down);
  const most = Math.max(1e-12, head.thumbnail.scale?.[0] ?? 1);
  cells.forEach((row, r) =>
    row.forEach((weight, c) =>
      image.data.set([red, green, blue, (255 * weight) / most], 4 * (r * across + c)),
    ),
  );
  context.putImageData(image, 0, 0);
  return canvas;
}

export function heatmapView(store: Store): { node: HTMLElement; draw: () => void } {
  const canvas = h("canvas");
  const spacer = h("div", { class: "spacer" });
  const scroller = h(
    "div",
    { class: "scroller", tabindex: 0, role: "img", "aria-label": "Heat map of attention weights" },
    spacer,
    canvas,
  );
  const zoom = h("input", { type: "range", min: 4, max: 60, value: 0, "aria-label": "Cell size" });
  const scale = legend();
  const missing = h("div", { class: "missing" });
  const under = h(
    "div",
    { class: "under" },
    scale.node,
    h("label", { class: "zoom quiet" }, "Cell size ", zoom),
  );
  let chosen = 0; // cell size set by the user; 0: fit the page
  const mostHeight = () => 0.75 * window.innerHeight;
  const cellSize = () => {
    if (chosen > 0) return chosen;
    const rows = rowTokens(store.capture, store.current());
    const columns = columnTokens(store.capture, store.current()).length;
    const margin = margins(scroller.clientWidth, rows);
    const wide = Math.min(54, Math.floor((scroller.clientWidth - margin.left - 4) / columns));
    // Limit the height of the cells so that the whole map is visible without scrolling, unless the cells
    // would be too small for numbers.
    const high = Math.floor((mostHeight() - margin.top - 2) / rows.length);
    return Math.max(10, high >= 24 ? Math.min(wide, high) : wide);
  };
  const draw = () => {
    const begin = performance.now();
    const head = store.current();
    const weights = drawnWeights(store);
    scroller.hidden = under.hidden = !weights;
    missing.replaceChildren(
      ...(weights
        ? []
        : [
            h("p", { class: "note" }, thumbnailOnly),
            thumbnailOf(head, { class: "thumbnail", role: "img", "aria-label": "Thumbnail of the weights" }),
          ]),
    );
    scale.draw(store);
    if (!weights) return;
    const cell = cellSize();
    zoom.value = String(cell);
    const rows = rowTokens(store.capture, head);
    const columns = columnTokens(store.capture, head).length;
    const margin = margins(scroller.clientWidth, rows);
    scroller.style.height = `${Math.min(margin.top + rows.length * cell + 2, mostHeight())}px`;
    scroller.setAttribute("aria-label", `Heat map: ${headName(head)}; the table view has the numbers`);
    spacer.style.width = `${margin.left + columns * cell}px`;
    spacer.style.height = `${margin.top + rows.length * cell}px`;
    const [width, visible, ratio] = [scroller.clientWidth, scroller.clientHeight, window.devicePixelRatio];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(visible * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(visible * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${visible}px`;
    }
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(context, store, {
      left: scroller.scrollLeft,
      top: scroller.scrollTop,
      width,
      height: visible,
      cell,
    });
    performance.measure("heat map", { start: begin, end: performance.now() });
  };
  let pending = false;
  scroller.addEventListener("scroll", () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  });
  zoom.addEventListener("input", () => {
    chosen = Number(zoom.value);
    draw();
  });
  const cellAt = (event: MouseEvent) => {
    const box = scroller.getBoundingClientRect();
    const cell = cellSize();
    const margin = margins(scroller.clientWidth, rowTokens(store.capture, store.current()));
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const [rows, columns] = store.size();
    const row = Math.floor((y - margin.top + scroller.scrollTop) / cell);
    const column = Math.floor((x - margin.left + scroller.scrollLeft) / cell);
    return {
      row: y >= margin.top && row < rows ? row : -1,
      column: x >= margin.left && column < columns ? column : -1,
    };
  };
  scroller.addEventListener("click", (event) => {
    const { row, column } = cellAt(event);
    if (row >= 0) return store.update({ row, column });
    if (column < 0) return store.update({ row: -1, column: -1 });
    const { chosen: sum } = store.state;
    store.update({ chosen: sum.includes(column) ? sum.filter((c) => c !== column) : [...sum, column] });
  });
  return {
    node: h("div", {}, missing, scroller, under),
    draw,
  };
}
