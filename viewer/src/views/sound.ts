// The view "Sound": the weights of one query over the spectrogram, and a row of weights for every generated word.
import { columnSide, rowTokens } from "../capture";
import { css, h, redraw, s, share } from "../dom";
import { rowsOf } from "../packed";
import { cellCount, heard, peak, profile, type Query, queriesOf, ticks } from "../sound";
import type { Store } from "../store";
import { thumbnailOnly } from "../weights";

const mostStrips = 200;
const strongest = 0.8; // opacity of the largest weight over the spectrogram

function rgb(colour: string): [number, number, number] {
  const [red = 0, green = 0, blue = 0] = (colour.slice(1).match(/../g) ?? []).map((pair) =>
    parseInt(pair, 16),
  );
  return [red, green, blue];
}

/** Draw a matrix on a canvas with one pixel per cell, the first row at the top. `opacity`: 0 to 1. */
function cells(rows: readonly (readonly number[])[], colour: string, opacity: number, label: string) {
  const [down, across] = [rows.length, rows[0]?.length ?? 0];
  const canvas = h("canvas", {
    width: Math.max(1, across),
    height: Math.max(1, down),
    ...(label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" }),
  });
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const image = context.createImageData(Math.max(1, across), Math.max(1, down));
  const [red, green, blue] = rgb(colour);
  rows.forEach((row, r) =>
    row.forEach((value, c) =>
      image.data.set(
        [red, green, blue, 255 * opacity * Math.max(0, Math.min(1, value))],
        4 * (r * across + c),
      ),
    ),
  );
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Draw the weights over time as an area. The largest has the full height. */
function curve(values: readonly number[]): SVGSVGElement {
  const most = Math.max(1e-12, ...values);
  const width = values.length;
  const points = values.map(
    (value, i) => `L${i},${100 - (100 * value) / most}L${i + 1},${100 - (100 * value) / most}`,
  );
  return s(
    "svg",
    { class: "curve", viewBox: `0 0 ${width} 100`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("path", { d: `M0,100${points.join("")}L${width},100Z` }),
  );
}

function axis(seconds: number): HTMLElement {
  return h(
    "div",
    { class: "times", "aria-hidden": "true" },
    ...ticks(seconds).map((time) =>
      h(
        "span",
        { style: `left: ${((100 * time) / seconds).toFixed(2)}%` },
        Number.isInteger(time) ? `${time} s` : `${Number(time.toFixed(2))}`,
      ),
    ),
  );
}

function about(store: Store, query: Query): HTMLElement {
  const { after, specials } = heard(store.capture, query.weights);
  const { time, weight } = peak(store.capture, query.weights);
  const parts = [`The largest weight, ${share(weight)}, is at ${time.toFixed(2)} s.`];
  if (after > 0.0005) parts.push(`${share(after)} is on the silence after the sound's end.`);
  if (store.capture.sound!.specials > 0) parts.push(`Special tokens have ${share(specials)}.`);
  return h("p", { class: "quiet", role: "status" }, parts.join(" "));
}

/** Draw the weights of a query over the spectrogram. A click selects a position as the query of self-attention. */
function picture(store: Store, query: Query, select: ((row: number) => void) | undefined): Element[] {
  const { capture } = store;
  const sound = capture.sound!;
  const levels = [...rowsOf(sound.spectrogram)].reverse();
  const { bands } = heard(capture, query.weights);
  const most = Math.max(1e-12, ...bands.flat());
  const overlay = [...bands].reverse().map((band) => band.map((weight) => weight / most));
  const field = h(
    "div",
    { class: "spectrogram" },
    cells(levels, css("--ink"), 0.85, `Spectrogram of ${sound.seconds.toFixed(1)} seconds`),
    cells(
      overlay,
      css("--accent"),
      strongest,
      `Attention of ${query.name} over it; the table view has the numbers`,
    ),
  );
  if (select)
    field.addEventListener("click", (event) => {
      const box = field.getBoundingClientRect();
      const time = (sound.seconds * (event.clientX - box.left)) / box.width;
      const { rows, columns } = capture.drawing?.patches ?? {
        rows: 1,
        columns: columnSide(capture, store.current())?.text.length ?? 1,
      };
      const within = (index: number, count: number) => Math.max(0, Math.min(count - 1, index));
      const column = within(Math.round((time - sound.first_time) / sound.time_step), columns);
      const band = within(Math.floor(rows * (1 - (event.clientY - box.top) / box.height)), rows);
      select(sound.specials + band * columns + column);
    });
  return [
    h("span", { class: "quiet side" }, "high ↑"),
    field,
    h("span", { class: "quiet side" }, "weight"),
    curve(profile(heard(capture, query.weights))),
    h("span"),
    axis(sound.seconds),
  ];
}

/** Draw one row of weights for each generated word. */
function strips(store: Store, queries: readonly Query[], row: number): HTMLElement[] {
  const accent = css("--accent");
  const special = store.capture.tokens.written?.special ?? [];
  return queries
    .filter((query) => !special[query.row])
    .slice(0, mostStrips)
    .flatMap((query) => {
      const { time, weight } = peak(store.capture, query.weights);
      const values = profile(heard(store.capture, query.weights));
      const most = Math.max(1e-12, ...values);
      const button = h(
        "button",
        {
          type: "button",
          class: "plain",
          "data-key": `row ${query.row}`,
          "aria-pressed": String(query.row === row),
          "aria-label": `${query.name}: ${share(weight)} at ${time.toFixed(2)} seconds`,
          title: `${share(weight)} at ${time.toFixed(2)} s`,
        },
        h("bdi", {}, query.name),
      );
      button.addEventListener("click", () => store.update({ row: query.row, column: -1 }));
      const strip = cells([values.map((value) => value / most)], accent, 1, "");
      strip.addEventListener("click", () => store.update({ row: query.row, column: -1 }));
      return [button, h("div", { class: query.row === row ? "heard picked" : "heard" }, strip)];
    });
}

export function soundView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "sound" });
  const draw = () => {
    if (store.state.view !== "sound" || !store.capture.sound) return;
    const head = store.current();
    const queries = queriesOf(head, rowTokens(store.capture, head));
    if (queries.length === 0)
      return node.replaceChildren(
        h(
          "p",
          { class: "note" },
          head.kind === "decoder"
            ? "The keys of this head are written tokens, not times. Select a head of the encoder or of cross-attention below."
            : thumbnailOnly,
        ),
      );
    const words = head.kind === "cross";
    const special = store.capture.tokens.written?.special ?? [];
    const first = words ? (queries.find(({ row }) => !special[row]) ?? queries[0]!) : queries[0]!;
    const query = queries.find(({ row }) => row === store.state.row) ?? first;
    const every = queries.length > 2 && !words;
    const all = h("button", { type: "button", class: "small", disabled: query.row < 0 }, "Mean over all");
    all.addEventListener("click", () => store.update({ row: -1, column: -1 }));
    const select = every ? (row: number) => store.update({ row, column: -1 }) : undefined;
    redraw(
      node,
      h(
        "p",
        {},
        words ? "While the model writes " : "Query: ",
        h("b", {}, h("bdi", {}, query.name)),
        words ? ", it attends to these times." : every ? ". Select a time in the spectrogram. " : ". ",
        ...(every ? [all] : []),
      ),
      about(store, query),
      h(
        "div",
        { class: "sound-rows" },
        ...picture(store, query, select),
        ...(words ? strips(store, queries, query.row) : []),
      ),
      h(
        "p",
        { class: "quiet" },
        `${cellCount(store.capture)} positions of ${(1000 * store.capture.sound.time_step).toFixed(0)} ms. In each row the full colour is its largest weight.`,
      ),
    );
  };
  return { node, draw };
}
