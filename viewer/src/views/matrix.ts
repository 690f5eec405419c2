// Tables and pictures of matrices, and dot products term by term.
import type { Matrix } from "../capture";
import { css, fixed, h } from "../dom";
import { dot } from "../math";

const mostFeatures = 64; // maximum number of shown features of a vector

interface TableOptions {
  signed: boolean; // true: the colour depends on the sign; false: the values are from 0 to 1
  picked: [number, number]; // row and column of the selected cell; column −1: the whole row
  pick?: (row: number, column: number) => void;
  name?: string; // for screen readers
}

function shade(value: number, size: number, signed: boolean): string {
  if (!Number.isFinite(value)) return "";
  const share = signed ? Math.abs(value) / size : value;
  const colour = signed && value < 0 ? "--negative" : "--accent";
  return `background: color-mix(in srgb, var(${colour}) ${Math.round(45 * share)}%, transparent)`;
}

/** Move the picked cell with the arrow keys. */
function moveCell(event: KeyboardEvent, matrix: Matrix, { picked, pick }: TableOptions): void {
  const moves: Record<string, [number, number]> = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
  };
  const move = moves[event.key];
  if (!move || !pick) return;
  event.preventDefault();
  event.stopPropagation();
  const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
  pick(within(picked[0] + move[0], matrix.length), within(picked[1] + move[1], matrix[0]?.length ?? 0));
}

/** Show a matrix as a table. With `pick`, a click or the arrow keys select a cell. */
export function matrixTable(
  matrix: Matrix,
  labels: { rows: readonly string[]; columns?: readonly string[] | undefined },
  options: TableOptions,
): HTMLElement {
  const size = Math.max(1e-12, ...matrix.flat().filter(Number.isFinite).map(Math.abs));
  const { picked, pick, name } = options;
  const cell = (value: number, r: number, c: number) => {
    const td = h(
      "td",
      {
        style: shade(value, size, options.signed),
        class: picked[0] === r && (picked[1] === c || picked[1] < 0) ? "picked" : "",
      },
      fixed(value, 2),
    );
    if (pick) td.addEventListener("click", () => pick(r, c));
    return td;
  };
  const head = labels.columns?.map((text) => h("th", { scope: "col" }, h("bdi", {}, text)));
  const node = h(
    "div",
    {
      class: "scroll",
      tabindex: 0,
      ...(name ? { role: "group", "aria-label": pick ? `${name}: arrow keys select a cell` : name } : {}),
    },
    h(
      "table",
      { class: pick ? "matrix picking" : "matrix" },
      ...(head ? [h("thead", {}, h("tr", {}, h("th"), ...head))] : []),
      h(
        "tbody",
        {},
        ...matrix.map((row, r) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("bdi", {}, labels.rows[r] ?? String(r))),
            ...row.map((v, c) => cell(v, r, c)),
          ),
        ),
      ),
    ),
  );
  if (pick) node.addEventListener("keydown", (event) => moveCell(event, matrix, options));
  return node;
}

/** Show vectors as the rows of a table: the first features, and how many more there are. */
export function vectorTable(
  matrix: Matrix,
  names: readonly string[],
  picked: [number, number],
  more: { pick?: (row: number, column: number) => void; name?: string } = {},
): HTMLElement {
  const left = (matrix[0]?.length ?? 0) - mostFeatures;
  const few = left > 0 ? matrix.map((vector) => vector.slice(0, mostFeatures)) : matrix;
  const table = matrixTable(few, { rows: names }, { signed: true, picked, ...more });
  if (left > 0) table.append(h("p", { class: "quiet" }, `… and ${left} more numbers of each vector.`));
  return table;
}

/** The number of features that vectorTable() shows of vectors of `size`. */
export function shownFeatures(size: number): number {
  return Math.min(size, mostFeatures);
}

/** Show the dot product of one query and one key, term by term. */
export function dotProduct(q: readonly number[], k: readonly number[], names: [string, string]): HTMLElement {
  const shown = q.slice(0, 8).map((value, i) => `${fixed(value, 2)} · ${fixed(k[i]!, 2)}`);
  const rest = q.length > 8 ? ` + … (${q.length - 8} more terms)` : "";
  return h(
    "p",
    { class: "formula" },
    h("bdi", {}, names[0]),
    " · ",
    h("bdi", {}, names[1]),
    ` = ${shown.join(" + ")}${rest} = `,
    h("b", {}, fixed(dot(q, k), 3)),
  );
}

/** Every term of Σ a_i b_i, the largest first. */
export function termTable(a: readonly number[], b: readonly number[], names: [string, string]): HTMLElement {
  const order = a.map((_, i) => i).sort((i, j) => Math.abs(a[j]! * b[j]!) - Math.abs(a[i]! * b[i]!));
  const size = Math.max(1e-12, ...a.map((x, i) => Math.abs(x * b[i]!)));
  const heads = ["feature", ...names, "product"];
  return h(
    "div",
    { class: "scroll terms", tabindex: 0, role: "group", "aria-label": "Terms of the dot product" },
    h(
      "table",
      { class: "matrix" },
      h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        ...order.map((i) => {
          const product = a[i]! * b[i]!;
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, String(i)),
            h("td", {}, fixed(a[i]!, 3)),
            h("td", {}, fixed(b[i]!, 3)),
            h("td", { style: shade(product, size, true) }, fixed(product, 3)),
          );
        }),
      ),
    ),
  );
}

function rgb(hex: string): [number, number, number] {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((at) => parseInt(long.slice(at, at + 2), 16)) as [number, number, number];
}

/** Draw a matrix as an image, one pixel a number: positive numbers in the accent colour, negative ones in the other. */
function image(matrix: Matrix, label: string): HTMLCanvasElement {
  const [rows, columns] = [matrix.length, matrix[0]?.length ?? 0];
  const canvas = h("canvas", { width: columns, height: rows, role: "img", "aria-label": label });
  const context = canvas.getContext("2d")!;
  const pixels = context.createImageData(columns, rows);
  const colours = [rgb(css("--accent")), rgb(css("--negative"))] as const;
  const size = Math.max(1e-12, ...matrix.map((row) => Math.max(...row.map(Math.abs))));
  matrix.forEach((row, r) =>
    row.forEach((value, c) => {
      const at = 4 * (r * columns + c);
      pixels.data.set(colours[value < 0 ? 1 : 0], at);
      pixels.data[at + 3] = Math.round(255 * Math.min(1, Math.abs(value) / size));
    }),
  );
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** A matrix as a picture with its name and shape; one row or one column is framed. */
export function framedImage(
  matrix: Matrix,
  name: string,
  frame: { row?: number; column?: number },
): HTMLElement {
  const [rows, columns] = [matrix.length, matrix[0]?.length ?? 1];
  const box = h("div", { class: "frame" }, image(matrix, `${name} as a picture`));
  box.style.width = `${Math.min(256, Math.max(64, 4 * columns))}px`;
  box.style.height = `${Math.min(160, Math.max(24, rows > 40 ? rows : 12 * rows))}px`;
  const line = h("i", { class: frame.row === undefined ? "column" : "row" });
  if (frame.row !== undefined) {
    line.style.top = `${(100 * frame.row) / rows}%`;
    line.style.height = `${100 / rows}%`;
  } else if (frame.column !== undefined) {
    line.style.left = `${(100 * frame.column) / columns}%`;
    line.style.width = `${100 / columns}%`;
  }
  line.append(h("b"));
  box.append(line);
  return h("figure", {}, box, h("figcaption", {}, h("b", {}, name), ` [${rows}, ${columns}]`));
}
