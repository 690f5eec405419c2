// Files written from the page: JSON (the capture), CSV, PNG and SVG of the shown head.
import { columnTokens, headKey, rowTokens } from "./capture";
import { css, s } from "./dom";
import type { Store } from "./store";
import { paint } from "./views/heatmap";
import { drawnWeights, scaleMaximum } from "./weights";

const cellSize = 30;
const labels = { width: 140, height: 104 };

/** The drawn weights of the shown head; without any, nothing is exported. */
function shownWeights(store: Store) {
  return drawnWeights(store) ?? [];
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

export function svgText(store: Store): string {
  const head = store.current();
  const [rows, columns] = [rowTokens(store.capture, head), columnTokens(store.capture, head)];
  const weights = shownWeights(store);
  const maximum = scaleMaximum(store, weights);
  const [width, height] = [labels.width + columns.length * cellSize, labels.height + rows.length * cellSize];
  const svg = s("svg", {
    xmlns: "http://www.w3.org/2000/svg",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "font-family": "sans-serif",
    "font-size": 12,
    fill: css("--ink"),
  });
  svg.append(s("rect", { width, height, fill: css("--paper") }));
  columns.forEach((token, c) => {
    const x = labels.width + (c + 0.6) * cellSize;
    svg.append(
      s("text", { x, y: labels.height - 8, transform: `rotate(-90 ${x} ${labels.height - 8})` }, token),
    );
  });
  weights.forEach((row, r) => {
    const token = rows[r]!;
    const y = labels.height + r * cellSize;
    svg.append(s("text", { x: labels.width - 8, y: y + 19, "text-anchor": "end" }, token));
    row.forEach((weight, c) => {
      const opacity = (0.04 + 0.96 * Math.min(1, weight / maximum)).toFixed(3);
      const x = labels.width + c * cellSize;
      svg.append(
        s(
          "rect",
          { x, y, width: cellSize - 1, height: cellSize - 1, fill: css("--accent"), "fill-opacity": opacity },
          s("title", {}, String(weight)),
        ),
      );
    });
  });
  return new XMLSerializer().serializeToString(svg);
}

function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function savePng(store: Store, name: string): void {
  const head = store.current();
  const width = labels.width + columnTokens(store.capture, head).length * cellSize;
  const height = labels.height + rowTokens(store.capture, head).length * cellSize;
  const ratio = Math.max(1, Math.min(2, Math.floor(8000 / Math.max(width, height))));
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  paint(context, store, { left: 0, top: 0, width, height, cell: cellSize });
  canvas.toBlob((blob) => blob && save(name, blob));
}

export function saveAs(store: Store, format: string): void {
  const name = `${headKey(store.current())}.${format}`;
  const text = (content: string, type: string) => save(name, new Blob([content], { type }));
  if (format === "csv") text(csvText(store), "text/csv");
  else if (format === "svg") text(svgText(store), "image/svg+xml");
  else if (format === "json") text(JSON.stringify(store.capture), "application/json");
  else savePng(store, name);
}
