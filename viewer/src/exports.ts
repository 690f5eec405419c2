// Export: the capture as JSON; the shown head as CSV, PNG and SVG.
import { columnTokens, headKey, headName, type Matrix, rowTokens } from "./capture";
import { textOn } from "./colour";
import { css, percent, s } from "./dom";
import type { Store } from "./store";
import { visible } from "./tokens";
import { paint } from "./views/heatmap";
import { drawnWeights, scaleLabel, scaleMaximum } from "./weights";

const cellSize = 30;
const mostPixels = 16384; // maximum width or height of a canvas
const labels = { width: 140, height: 104 };

export const formats = ["svg", "png", "csv", "json"] as const;

export type Format = (typeof formats)[number];

/** Whether a format can be saved. All but JSON have the weights of the shown head. */
export function canSave(store: Store, format: Format): boolean {
  return format === "json" || store.current().weights !== undefined;
}

function shownWeights(store: Store): Matrix {
  const weights = drawnWeights(store);
  if (!weights) throw new Error("expected a head with weights, found a thumbnail; call canSave() first");
  return weights;
}

export function csvText(store: Store): string {
  const head = store.current();
  const weights = shownWeights(store);
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = [["", ...columnTokens(store.capture, head)].map(quoted).join(",")];
  const rows = rowTokens(store.capture, head);
  weights.forEach((row, r) => lines.push([quoted(rows[r]!), ...row].join(",")));
  return `${lines.join("\r\n")}\r\n`;
}

/** Return the shown head as SVG with title, caption, percent, axis names and colour scale. */
export function svgText(store: Store): string {
  const head = store.current();
  const [rows, columns] = [rowTokens(store.capture, head), columnTokens(store.capture, head)];
  const weights = shownWeights(store);
  const maximum = scaleMaximum(store, weights);
  const top = labels.height + 44;
  const width = Math.max(480, labels.width + columns.length * cellSize + 16);
  const height = top + rows.length * cellSize + 40;
  const [ink, quiet, accent, onAccent] = [css("--ink"), css("--quiet"), css("--accent"), css("--on-accent")];
  const paper = css("--paper");
  const svg = s("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    style: "max-width:100%;height:auto",
    "font-family": "system-ui, Noto Sans, Noto Sans Devanagari, Noto Sans Arabic, sans-serif",
    "font-size": 12,
    fill: ink,
  });
  const text = (x: number, y: number, words: string, more: Record<string, string | number> = {}) =>
    svg.append(s("text", { x, y, ...more }, visible(words)));
  svg.append(s("rect", { width, height, fill: paper }));
  text(12, 20, headName(head), { "font-weight": 600, "font-size": 14 });
  text(12, 38, head.caption, { fill: quiet });
  const end = { "text-anchor": "end" };
  text(labels.width - 8, top - 24, "attends to →", { ...end, fill: quiet });
  text(labels.width - 8, top - 8, head.kind === "cross" ? "generated ↓" : "token ↓", { ...end, fill: quiet });
  columns.forEach((token, c) => {
    const x = labels.width + (c + 0.6) * cellSize;
    text(x, top - 8, token, { transform: `rotate(-90 ${x} ${top - 8})` });
  });
  weights.forEach((row, r) => {
    const y = top + r * cellSize;
    text(labels.width - 8, y + 19, rows[r]!, end);
    row.forEach((weight, c) => {
      const share = Math.min(1, weight / maximum);
      const opacity = 0.04 + 0.96 * share;
      const x = labels.width + c * cellSize;
      const side = cellSize - 1;
      svg.append(
        s(
          "rect",
          { x, y, width: side, height: side, fill: accent, "fill-opacity": opacity.toFixed(3) },
          s("title", {}, String(weight)),
        ),
      );
      if (weight > 0)
        text(x + side / 2, y + 19, percent(weight), {
          "text-anchor": "middle",
          "font-size": 11,
          fill: textOn(opacity, { ink, paper, accent, onAccent }),
        });
    });
  });
  const below = height - 14;
  text(12, below, "0 %", { fill: quiet });
  for (let step = 0; step < 5; ++step)
    svg.append(
      s("rect", {
        x: 40 + 22 * step,
        y: below - 11,
        width: 21,
        height: 12,
        fill: accent,
        "fill-opacity": step / 4,
      }),
    );
  text(156, below, scaleLabel(store, maximum), { fill: quiet });
  return new XMLSerializer().serializeToString(svg);
}

function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Return the size of a cell in a PNG. A canvas of more than 16,384 pixels on a side cannot be saved. */
export function pngCell(rows: number, columns: number): number {
  const room = Math.min((mostPixels - labels.height) / rows, (mostPixels - labels.width) / columns);
  return Math.max(1, Math.min(cellSize, Math.floor(room)));
}

function savePng(store: Store, name: string): void {
  const [rows, columns] = store.size();
  const cell = pngCell(rows, columns);
  const width = labels.width + columns * cell;
  const height = labels.height + rows * cell;
  const ratio = Math.max(1, Math.min(2, Math.floor(8000 / Math.max(width, height))));
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  paint(context, store, { left: 0, top: 0, width, height, cell });
  canvas.toBlob((blob) => blob && save(name, blob));
}

/** Save a file. canSave() is true for the format. */
export function saveAs(store: Store, format: Format): void {
  const name = `${headKey(store.current())}.${format}`;
  const text = (content: string, type: string) => save(name, new Blob([content], { type }));
  if (format === "csv") text(csvText(store), "text/csv");
  else if (format === "svg") text(svgText(store), "image/svg+xml");
  else if (format === "json") text(JSON.stringify(store.capture), "application/json");
  else savePng(store, name);
}
