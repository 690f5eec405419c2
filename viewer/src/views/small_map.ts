// Small heat map on a canvas: weights, or differences of weights in two colours.
import type { Matrix } from "../capture";
import { css, h } from "../dom";

export interface SmallMap {
  title: string;
  matrix: Matrix;
  maximum: number; // value drawn in the full colour
}

/** Draw a small heat map. Negative numbers have the second colour. */
export function smallMap({ title, matrix, maximum }: SmallMap): HTMLElement {
  const [rows, columns] = [matrix.length, matrix[0]?.length ?? 0];
  const side = Math.max(1, Math.min(22, Math.floor(260 / Math.max(rows, columns, 1))));
  const canvas = h("canvas", {
    width: Math.max(1, columns * side),
    height: Math.max(1, rows * side),
    role: "img",
    "aria-label": `${title}: ${rows} queries, ${columns} keys`,
  });
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const [positive, negative] = [css("--accent"), css("--negative")];
  const gap = side >= 8 ? 1 : 0;
  matrix.forEach((row, r) =>
    row.forEach((value, c) => {
      context.globalAlpha = 0.04 + 0.96 * (Math.min(1, Math.abs(value) / Math.max(maximum, 1e-12)) || 0); // 0 for NaN
      context.fillStyle = value < 0 ? negative : positive;
      context.fillRect(c * side, r * side, side - gap, side - gap);
    }),
  );
  return h("figure", { class: "small-map" }, canvas, h("figcaption", {}, title));
}
