// The view "Tokenizers": the text as several tokenizers divide it, aligned under the text.
import type { TokenizedText } from "../capture.gen";
import { h, redraw } from "../dom";
import type { Store } from "../store";
import { type Cell, linesOf, type Row, rowOf, wordsOf } from "../strips";
import { directionOf, shownTokens } from "../tokens";

const characterWidth = 9; // estimates in pixels, to divide the text into lines
const pieceMargin = 16;
const labelWidth = 40;

/** Return the short name of a row: "A", "B", …, "Z", "A2", …. */
function letter(index: number): string {
  return String.fromCharCode(65 + (index % 26)) + (index < 26 ? "" : String(Math.floor(index / 26) + 1));
}

/** A tokenizer with its row, and the tokens as displayed. */
interface Strip {
  index: number;
  label: string;
  tokenizer: TokenizedText;
  row: Row;
  names: string[];
}

function stripsOf(store: Store): Strip[] {
  return (store.capture.tokenizers ?? []).map((tokenizer, i) => ({
    index: i,
    label: letter(i),
    tokenizer,
    row: rowOf(tokenizer),
    names: shownTokens(tokenizer.tokens),
  }));
}

function counts(strips: readonly Strip[], words: number): HTMLElement {
  const head = ["", "Tokenizer", "Type", "Vocabulary", "Tokens", "Tokens per word"];
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers of tokens" },
    h(
      "table",
      { class: "counts" },
      h("caption", {}, h("span", {}, "Tokens per word do not count special tokens.")),
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name || "Row")))),
      h(
        "tbody",
        {},
        ...strips.map(({ label, tokenizer, row }) => {
          const all = tokenizer.begin.length;
          const own = all - row.before.length - row.after.length;
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, label),
            h("td", { class: "name" }, h("bdi", {}, tokenizer.name)),
            h("td", {}, tokenizer.type),
            h("td", {}, tokenizer.vocabulary.toLocaleString("en")),
            h("td", {}, String(all)),
            h("td", {}, words > 0 ? (own / words).toFixed(2) : "–"),
          );
        }),
      ),
    ),
  );
}

export function tokenizersView(store: Store): { node: HTMLElement; draw: () => void } {
  const strips = stripsOf(store);
  const points = [...store.capture.text];
  const words = wordsOf(store.capture.text);
  const body = h("div", { class: "strips-of-text" });
  const node = h(
    "div",
    { class: "tokenizers" },
    h(
      "p",
      {},
      "The same text under each tokenizer. A piece stands under the characters that it covers, with its id; select one to see what the other tokenizers have there. Dashed pieces are special tokens that the tokenizer adds.",
    ),
    counts(strips, words.filter(({ begin, end }) => points.slice(begin, end).join("").trim() !== "").length),
    body,
  );

  /** Return the range of the selected piece, or an empty range. */
  const selection = (): { begin: number; end: number } => {
    const [row, token] = store.state.piece.split(".").map(Number);
    const { begin, end } = strips[row ?? -1]?.tokenizer ?? { begin: [], end: [] };
    return { begin: begin[token ?? -1] ?? 0, end: end[token ?? -1] ?? 0 };
  };

  const piece = (strip: Strip, token: number, special: boolean) => {
    const id = strip.tokenizer.tokens.ids?.[token];
    const content = [
      h("bdi", {}, strip.names[token]!),
      h("small", {}, id === undefined ? "" : String(id)),
    ] as const;
    if (special) return h("span", { class: "token given" }, ...content);
    const { begin, end } = selection();
    const now = strip.tokenizer.begin[token]! < end && begin < strip.tokenizer.end[token]!;
    const name = `${strip.index}.${token}`;
    const button = h(
      "button",
      {
        type: "button",
        class: `token${now ? " now" : ""}`,
        "aria-pressed": String(now),
        "data-key": name,
      },
      ...content,
    );
    button.addEventListener("click", () => store.update({ piece: store.state.piece === name ? "" : name }));
    return button;
  };

  /** Return a row of a line: cells of pieces, and empty cells for characters that no piece covers. */
  const tableRow = (
    strip: Strip,
    line: { begin: number; end: number },
    ends: { first: boolean; last: boolean },
    columns: readonly number[],
  ) => {
    const span = (begin: number, end: number) => columns.indexOf(end) - columns.indexOf(begin);
    const specials = (tokens: readonly number[]) =>
      h("td", {}, ...tokens.map((token) => piece(strip, token, true)));
    const cells: HTMLElement[] = [];
    let place = line.begin;
    const until = (next: number) => {
      if (next > place) cells.push(h("td", { colspan: span(place, next) }));
      place = next;
    };
    for (const cell of strip.row.cells) {
      if (cell.begin < line.begin || cell.end > line.end) continue;
      until(cell.begin);
      cells.push(
        h(
          "td",
          { colspan: span(cell.begin, cell.end) },
          ...cell.tokens.map((token) => piece(strip, token, false)),
        ),
      );
      place = cell.end;
    }
    until(line.end);
    return h(
      "tr",
      {},
      h("th", { scope: "row", title: strip.tokenizer.name }, strip.label),
      ...(ends.first ? [specials(strip.row.before)] : []),
      ...cells,
      ...(ends.last ? [specials(strip.row.after)] : []),
    );
  };

  const drawLine = (line: { begin: number; end: number }, index: number, all: number) => {
    const own = words.filter(({ begin, end }) => line.begin <= begin && end <= line.end);
    const inside = (cell: Cell) => line.begin <= cell.begin && cell.end <= line.end;
    const places = new Set([line.begin, line.end]);
    for (const cell of [...own, ...strips.flatMap(({ row }) => row.cells.filter(inside))])
      places.add(cell.begin).add(cell.end);
    const columns = [...places].sort((a, b) => a - b);
    const ends = {
      first: index === 0 && strips.some(({ row }) => row.before.length > 0),
      last: index === all - 1 && strips.some(({ row }) => row.after.length > 0),
    };
    const empty = () => h("td", {});
    return h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": `Tokens, line ${index + 1} of ${all}`,
        dir: directionOf([store.capture.text]),
      },
      h(
        "table",
        { class: "strip-of-text" },
        h(
          "tbody",
          {},
          h(
            "tr",
            { class: "words" },
            h("th", { scope: "row" }, h("span", { class: "spoken" }, "Text")),
            ...(ends.first ? [empty()] : []),
            ...own.map(({ begin, end }) =>
              h(
                "td",
                { colspan: columns.indexOf(end) - columns.indexOf(begin) },
                h("bdi", {}, points.slice(begin, end).join("").trim()),
              ),
            ),
            ...(ends.last ? [empty()] : []),
          ),
          ...strips.map((strip) => tableRow(strip, line, ends, columns)),
        ),
      ),
    );
  };

  /** Return the width that a range of the text needs: that of the widest row. */
  const widthOf = (begin: number, end: number) => {
    const pieceWidth = ({ names, tokenizer }: Strip, token: number) =>
      pieceMargin +
      characterWidth *
        Math.max(names[token]!.length, 0.8 * String(tokenizer.tokens.ids?.[token] ?? "").length);
    const rowWidth = (strip: Strip) => {
      const { before, cells, after } = strip.row;
      const own = cells.filter((cell) => begin <= cell.begin && cell.end <= end);
      const tokens = [
        ...(begin === 0 ? before : []),
        ...own.flatMap((cell) => cell.tokens),
        ...(end === points.length ? after : []),
      ];
      return tokens.reduce((sum, token) => sum + pieceWidth(strip, token), 0);
    };
    return Math.max(0, ...strips.map(rowWidth));
  };

  let known = { width: 0, lines: [] as { begin: number; end: number }[] };
  const draw = () => {
    if (store.state.view !== "tokenizers") return;
    const width = Math.max(200, node.clientWidth - labelWidth);
    if (known.width !== width)
      known = {
        width,
        lines: linesOf(
          words,
          strips.map(({ row }) => row),
          width,
          widthOf,
        ),
      };
    redraw(body, ...known.lines.map((line, i) => drawLine(line, i, known.lines.length)));
  };
  return { node, draw };
}
