// The view "Compare": the same head on two texts, linked token by token, and the cosine of each common word.
import {
  type Capture,
  CaptureError,
  columnTokens,
  type Head,
  headKey,
  headName,
  readCapture,
} from "../capture";
import { rowTokens, weightsOf } from "../capture";
import { partnerOf } from "../live/examples";
import { LatestRequest } from "../live/latest_request";
import { fixed, h, overlayColour, redraw, s, share } from "../dom";
import { driftOf } from "../drift";
import { matched } from "../math";
import type { Store } from "../store";
import { linkedMap, mostLinked } from "./linked_map";
import { pathsMap, type States, statesOf } from "./meaning";
import { markedWords } from "./outcome";
import { requestStatus } from "./request_status";

/** Read a capture from a JSON file or from a page. Throws CaptureError or SyntaxError. */
export function captureInFile(text: string): Capture {
  const mark = /<script[^>]*\bid=["']data["'][^>]*>/.exec(text);
  const begin = mark ? mark.index + mark[0].length : 0;
  const end = mark ? text.indexOf("</script>", begin) : text.length;
  return readCapture(JSON.parse(text.slice(begin, end)));
}

function half(title: string, capture: Capture, other: Capture): HTMLElement[] {
  const { translation } = capture;
  return [
    h("h3", { dir: "auto" }, title),
    ...(translation === undefined
      ? []
      : [h("p", { class: "written", dir: "auto" }, ...markedWords(translation, other.translation ?? ""))]),
  ];
}

/** Describe the largest weights of a row. */
function largest(capture: Capture, head: Head, row: number): string {
  const weights = weightsOf(head)?.[row];
  if (!weights) return "";
  const names = columnTokens(capture, head);
  const order = weights.map((_, i) => i).sort((a, b) => weights[b]! - weights[a]!);
  return `${rowTokens(capture, head)[row]} → ${order
    .slice(0, 3)
    .map((i) => `${names[i]} ${share(weights[i]!)}`)
    .join(", ")}`;
}

/** Draw a head on both texts, with linked rows and columns. */
function maps(one: [Capture, Head], two: [Capture, Head]): HTMLElement[] {
  const sides = [one, two].map(([capture, head]) => ({
    capture,
    head,
    rows: rowTokens(capture, head).slice(0, mostLinked),
    columns: columnTokens(capture, head).slice(0, mostLinked),
  }));
  const [a, b] = [sides[0]!, sides[1]!];
  const links = { row: matched(a.rows, b.rows), column: matched(a.columns, b.columns) };
  const partner = (pairs: readonly [number, number][], side: number, index: number) =>
    pairs.find((pair) => pair[side] === index)?.[1 - side] ?? -1;
  const readouts = sides.map(() => h("p", { class: "formula", role: "status" }));
  const over = (side: number) => (row: number, column: number) => {
    const places = [side, 1 - side].map((at) => ({
      at,
      row: at === side ? row : partner(links.row, side, row),
      column: at === side ? column : partner(links.column, side, column),
    }));
    for (const place of places) {
      drawn[place.at]!.light(place.row, place.column);
      const { capture, head } = sides[place.at]!;
      readouts[place.at]!.textContent = place.row < 0 ? "" : largest(capture, head, place.row);
    }
  };
  const drawn = sides.map(({ capture, head, rows, columns }, side) =>
    linkedMap(weightsOf(head)!, { rows, columns, name: `${headName(head)}: ${capture.text}` }, over(side)),
  );
  return drawn.map((map, side) => h("div", {}, map.node, readouts[side]!));
}

/** Return the longest words of one text that the other lacks, at most `count`. */
function ownWords(tokens: readonly string[], common: ReadonlySet<number>, count: number): number[] {
  const words = tokens.map((_, i) => i).filter((i) => !common.has(i) && /^\p{L}{3}/u.test(tokens[i]!));
  return words.sort((a, b) => tokens[b]!.length - tokens[a]!.length).slice(0, count);
}

/** Draw the paths of one word in both texts, and of words that only one of them has, in one plane. */
function pathsOfBoth(a: States, b: States, [i, j]: [number, number]): HTMLElement[] {
  const first = a.tokens.length;
  const pairs = matched(a.tokens, b.tokens);
  const joint: States = {
    side: a.side,
    names: a.names,
    tokens: [...a.tokens, ...b.tokens],
    states: a.states.map((state, layer) => [...state, ...b.states[layer]!]),
  };
  const others = [
    ...ownWords(a.tokens, new Set(pairs.map(([one]) => one)), 2),
    ...ownWords(b.tokens, new Set(pairs.map(([, two]) => two)), 2).map((token) => first + token),
  ];
  const picked = [i, first + j, ...others];
  const labels = picked.map((token) => `${joint.tokens[token]} ${token < first ? "¹" : "²"}`);
  return [
    h("h3", {}, "The paths of “", h("bdi", {}, a.tokens[i]!), "” in both texts"),
    h(
      "p",
      { class: "quiet" },
      "From the embedding (open circle) through the layers, with words that only one text has. ¹ first text, ² second text.",
    ),
    h("div", { class: "picture" }, pathsMap(joint, picked, labels)),
  ];
}

/** Show the cosine of each common token in both texts, layer by layer. */
function drift(a: States, b: States, special: readonly boolean[]): HTMLElement[] {
  const lines = driftOf(a, b, special);
  if (typeof lines === "string") return [h("p", { class: "note" }, lines)];
  if (lines.length === 0) return [];
  lines.sort((x, y) => x.values.at(-1)! - y.values.at(-1)!);
  // Prefer a word of at least three letters: short words such as articles carry little meaning.
  const marked = lines.find(({ token }) => [...token].length >= 3) ?? lines[0]!;
  const narrow = document.documentElement.clientWidth < 500;
  const [width, height, left, right] = [narrow ? 350 : 560, 240, 40, narrow ? 90 : 150];
  const low = Math.min(0.9, ...lines.flatMap(({ values }) => values));
  const x = (layer: number) => left + ((width - left - right) * layer) / Math.max(1, a.states.length - 1);
  const y = (value: number) => 14 + ((height - 50) * (1 - value)) / (1 - low);
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": "Cosine of the same word in both texts, by layer; the table has the numbers",
  });
  for (const value of [1, low])
    svg.append(
      s("line", {
        class: "flow",
        x1: left,
        x2: width - right,
        y1: y(value),
        y2: y(value),
        "stroke-opacity": 0.4,
      }),
      s("text", { class: "head", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, fixed(value, 2)),
    );
  a.names.forEach((name, layer) =>
    svg.append(s("text", { class: "head", x: x(layer), y: height - 12, "text-anchor": "middle" }, name)),
  );
  let lowest = -Infinity;
  const labels = [...lines].sort((one, two) => two.values.at(-1)! - one.values.at(-1)!);
  labels.forEach((line) => {
    const far = line === marked;
    const points = line.values.map((value, layer) => `${layer ? "L" : "M"}${x(layer)},${y(value)}`).join("");
    svg.append(s("path", { d: points, class: far ? "drift far" : "drift" }));
    const at = Math.max(y(line.values.at(-1)!), lowest + 14);
    lowest = at;
    if (at < height - 26)
      svg.append(
        s(
          "text",
          { x: width - right + 8, y: at + 4, class: far ? "picked" : "", style: "font-size: 12px" },
          line.token,
        ),
      );
  });
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "token"),
        ...a.names.map((name) => h("th", { scope: "col" }, name)),
      ),
    ),
    h(
      "tbody",
      {},
      ...lines.map(({ token, values }) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, h("bdi", {}, token)),
          ...values.map((value) => h("td", {}, fixed(value, 3))),
        ),
      ),
    ),
  );
  return [
    h("h3", {}, `The same words in both texts (${a.side})`),
    h(
      "p",
      { class: "quiet" },
      `Cosine of a token's vector in one text with its vector in the other: 1 is the same direction. ${marked === lines[0] ? "" : "Of the longer words, "}“${marked.token}” ends furthest apart.`,
    ),
    h("div", { class: "drifts" }, svg, h("div", { class: "scroll", tabindex: 0 }, table)),
    ...pathsOfBoth(a, b, marked.pair),
  ];
}

function result(store: Store, other: Capture): HTMLElement[] {
  const { capture } = store;
  const head = store.current();
  const match = other.attention.find((each) => headKey(each) === headKey(head));
  const halves = h(
    "div",
    { class: "split" },
    h("div", {}, ...half(capture.text, capture, other)),
    h("div", {}, ...half(other.text, other, capture)),
  );
  const side = capture.tokens.source ? "encoder" : "decoder";
  const [a, b] = [statesOf(capture, side), statesOf(other, side)];
  return [
    halves,
    h("h3", {}, headName(head)),
    ...(match?.weights && head.weights
      ? [
          h(
            "p",
            { class: "quiet" },
            "Point at a token: the same token is highlighted in both. Select another head below.",
          ),
          h("div", { class: "split" }, ...maps([capture, head], [other, match])),
        ]
      : [h("p", { class: "note" }, "One of the captures has no weights of this head.")]),
    ...(a && b ? drift(a, b, capture.tokens[side === "encoder" ? "source" : "target"]?.special ?? []) : []),
  ];
}

/** Create the form for the second text. `again`: called if the text is the one that was asked for. */
function textForm(store: Store, again: () => void): { node: HTMLElement; draw: () => void } {
  const text = h("input", { type: "text", "aria-label": "Second sentence", dir: "auto" });
  const partner = partnerOf(store.capture.text);
  const chip = h("button", { type: "button", class: "chip" }, partner ?? "");
  chip.addEventListener("click", () => store.update({ other: chip.textContent }));
  const node = h("form", { class: "ask" }, text, h("button", { type: "submit" }, "Compare"), chip);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    const other = text.value.trim();
    if (other === store.state.other) again();
    else if (other) store.update({ other });
  });
  let entered = ""; // the second text of the state when it was drawn
  const draw = () => {
    const { other } = store.state;
    if (other !== entered) entered = text.value = other;
    chip.hidden = partner === undefined || other === partner;
  };
  return { node, draw };
}

/** Create the field for a file with the second capture. `take` gets the capture, or the reason why there is none. */
function fileField(take: (capture: Capture | undefined, reason: string) => void): HTMLElement {
  const file = h("input", { type: "file", accept: ".json,.html", "aria-label": "Second capture" });
  file.addEventListener("change", () => {
    const chosen = file.files?.[0];
    if (!chosen) return;
    chosen.text().then(
      (content) => {
        try {
          take(captureInFile(content), "");
        } catch (error) {
          if (!(error instanceof CaptureError || error instanceof SyntaxError)) throw error;
          take(undefined, `This file has no valid capture: ${error.message}.`);
        }
      },
      (error: unknown) => take(undefined, `The file cannot be read: ${String(error)}`),
    );
  });
  return h("label", { class: "quiet file" }, "Compare with a capture or page of another text: ", file);
}

const explanation =
  "Two texts beside each other, such as “The exam was a piece of cake.” and “He ate a piece of cake.”: the same head on both, and the cosine of the common words.";

export function compareView(store: Store): { node: HTMLElement; draw: () => void } {
  const { capture } = store;
  const live = store.live?.question.file ? undefined : store.live;
  const status = h("div", { role: "status" });
  const body = h("div");
  const request = new LatestRequest<Capture>(store.signal, () => draw());
  const form = live && textForm(store, () => request.retry());
  let read = capture.compared; // the second capture of a page without a form
  let message = ""; // why the chosen file has none
  const take = (other: Capture | undefined, reason: string) => {
    [read, message] = [other ?? read, reason];
    draw();
  };
  const field = form?.node ?? fileField(take);
  const node = h("div", { class: "compare" }, field, status, body);
  /** Return the second capture, or undefined if there is none yet. */
  const second = (): Capture | undefined => {
    if (!live) return read;
    const { other } = store.state;
    if (other) request.ask(other, (signal) => live.ask({ text: other }, signal));
    else request.clear();
    return request.answer;
  };
  let built: unknown[] = [];
  const draw = () => {
    if (store.state.view !== "compare") return;
    form?.draw();
    const other = second();
    const problem = message ? [h("p", { class: "note", role: "alert" }, message)] : requestStatus(request);
    redraw(status, ...problem);
    const now = [store.state.head, other, document.documentElement.clientWidth, overlayColour(0)];
    if (now.every((each, i) => each === built[i])) return;
    built = now;
    body.replaceChildren(...(other ? result(store, other) : [h("p", { class: "quiet" }, explanation)]));
  };
  return { node, draw };
}
