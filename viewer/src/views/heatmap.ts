// The heat map of one head on a canvas that draws only what is visible, so 2,048 tokens scroll smoothly.
import { columnTokens, headName, rowTokens, specialColumns } from "../capture";
import { css, h, percent } from "../dom";
import { withoutColumns } from "../math";
import type { Store } from "../store";

const labelWidth = 132;
const labelHeight = 104;

/** The weights as drawn: special columns may be hidden and the rows divided by what remains. */
export function drawnWeights(store: Store) {
  const head = store.current();
  const hidden = specialColumns(store.capture, head);
  return store.state.hideSpecial ? withoutColumns(head.weights, hidden) : head.weights;
}

export function scaleMaximum(store: Store, weights: readonly (readonly number[])[]): number {
  if (!store.state.rescale) return 1;
  return Math.max(1e-12, ...weights.map((row) => Math.max(...row)));
}

function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

/** Draw into `context` the part of the map whose top left corner is (left, top), in CSS pixels. */
export function paint(
  context: CanvasRenderingContext2D,
  store: Store,
  frame: { left: number; top: number; width: number; height: number; cell: number },
): void {
  const { left, top, width, height, cell } = frame;
  const head = store.current();
  const weights = drawnWeights(store);
  const rows = rowTokens(store.capture, head);
  const columns = columnTokens(store.capture, head);
  const maximum = scaleMaximum(store, weights);
  const [ink, quiet, paper, accent] = ["--ink", "--quiet", "--paper", "--accent"].map(css) as [
    string,
    string,
    string,
    string,
  ];
  context.fillStyle = paper;
  context.fillRect(0, 0, width, height);
  const firstRow = Math.max(0, Math.floor(top / cell));
  const lastRow = Math.min(rows.length, Math.ceil((top + height - labelHeight) / cell));
  const firstColumn = Math.max(0, Math.floor(left / cell));
  const lastColumn = Math.min(columns.length, Math.ceil((left + width - labelWidth) / cell));
  const gap = cell >= 12 ? 1 : 0;
  const numbers = cell >= 24;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.font = `${cell >= 30 ? 11 : 9.5}px system-ui, sans-serif`;
  for (let r = firstRow; r < lastRow; ++r) {
    for (let c = firstColumn; c < lastColumn; ++c) {
      const weight = weights[r]![c]!;
      const share = Math.min(1, weight / maximum);
      const x = labelWidth + c * cell - left;
      const y = labelHeight + r * cell - top;
      context.globalAlpha = 0.04 + 0.96 * share;
      context.fillStyle = accent;
      context.fillRect(x, y, cell - gap, cell - gap);
      context.globalAlpha = 1;
      if (numbers && weight > 0) {
        context.fillStyle = share > 0.5 ? css("--on-accent") : ink;
        context.fillText(percent(weight), x + (cell - gap) / 2, y + (cell - gap) / 2);
      }
    }
  }
  const { row, column } = store.state;
  if (row >= 0) {
    context.strokeStyle = ink;
    context.lineWidth = 1.5;
    context.strokeRect(labelWidth - left, labelHeight + row * cell - top - 0.5, columns.length * cell, cell);
    if (column >= 0)
      context.strokeRect(
        labelWidth + column * cell - left - 0.5,
        labelHeight - top,
        cell,
        rows.length * cell,
      );
  }
  context.fillStyle = paper;
  context.fillRect(0, 0, width, labelHeight);
  context.fillRect(0, 0, labelWidth, height);
  context.font = `${Math.min(13, Math.max(8, cell - 2))}px system-ui, "Noto Sans", "Noto Sans Devanagari", sans-serif`;
  context.textAlign = "right";
  const every = cell < 9 ? Math.ceil(9 / cell) : 1;
  for (let r = firstRow; r < lastRow; ++r) {
    if (r % every !== 0) continue;
    const y = labelHeight + (r + 0.5) * cell - top;
    if (y < labelHeight) continue;
    context.fillStyle = r === row ? accent : ink;
    context.fillText(shortened(context, rows[r]!, labelWidth - 14), labelWidth - 8, y);
  }
  context.textAlign = "left";
  for (let c = firstColumn; c < lastColumn; ++c) {
    const x = labelWidth + (c + 0.5) * cell - left;
    if (x < labelWidth || c % every !== 0) continue;
    context.save();
    context.translate(x, labelHeight - 8);
    context.rotate(-Math.PI / 2);
    context.fillStyle = c === column ? accent : ink;
    context.fillText(shortened(context, columns[c]!, labelHeight - 30), 0, 0);
    context.restore();
  }
  context.fillStyle = paper;
  context.fillRect(0, 0, labelWidth, labelHeight);
  context.fillStyle = quiet;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText("attends to →", labelWidth - 8, labelHeight - 26);
  context.fillText(head.kind === "cross" ? "generated ↓" : "token ↓", labelWidth - 8, labelHeight - 8);
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
  let chosen = 0; // cell size set by the user; 0: fit the page
  const cellSize = () => {
    if (chosen > 0) return chosen;
    const columns = columnTokens(store.capture, store.current()).length;
    return Math.max(10, Math.min(42, Math.floor((scroller.clientWidth - labelWidth - 4) / columns)));
  };
  const draw = () => {
    const cell = cellSize();
    zoom.value = String(cell);
    const head = store.current();
    const rows = rowTokens(store.capture, head).length;
    const columns = columnTokens(store.capture, head).length;
    const height = Math.min(labelHeight + rows * cell + 2, 0.75 * window.innerHeight);
    scroller.style.height = `${height}px`;
    scroller.setAttribute("aria-label", `Heat map: ${headName(head)}; the table view has the numbers`);
    spacer.style.width = `${labelWidth + columns * cell}px`;
    spacer.style.height = `${labelHeight + rows * cell}px`;
    const [width, visible, ratio] = [scroller.clientWidth, scroller.clientHeight, window.devicePixelRatio];
    if (canvas.width !== width * ratio || canvas.height !== visible * ratio) {
      canvas.width = width * ratio;
      canvas.height = visible * ratio;
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
    const x = event.clientX - box.left - labelWidth + scroller.scrollLeft;
    const y = event.clientY - box.top - labelHeight + scroller.scrollTop;
    const head = store.current();
    const row = Math.floor(y / cell);
    const column = Math.floor(x / cell);
    const inRows = row >= 0 && row < head.weights.length;
    const inColumns = column >= 0 && column < (head.weights[0]?.length ?? 0);
    return { row: inRows ? row : -1, column: inRows && inColumns ? column : -1 };
  };
  scroller.addEventListener("click", (event) => store.update(cellAt(event)));
  return {
    node: h("div", {}, scroller, h("label", { class: "zoom quiet" }, "Cell size ", zoom)),
    draw,
  };
}
