// One text under several tokenizers: the cells of each row, and the lines of the strip.
import type { TokenizedText } from "./capture.gen";

/** A range of code points [begin, end), and the tokens that cover it. */
export interface Cell {
  begin: number;
  end: number;
  tokens: number[];
}

export interface Row {
  before: number[]; // special tokens added before the text
  cells: Cell[]; // in the order of the text; they do not overlap
  after: number[]; // special tokens added after the text
}

/** Return the cells of one tokenizer. Tokens that share a character, such as bytes of it, are in one cell. */
export function rowOf({ begin, end }: TokenizedText): Row {
  const row: Row = { before: [], cells: [], after: [] };
  let empty: number[] = []; // tokens without characters since the last cell
  begin.forEach((first, token) => {
    const last = end[token]!;
    if (last <= first) return void empty.push(token);
    const cell = row.cells.at(-1);
    if (!cell) row.before = empty;
    const own = cell ? [...empty, token] : [token];
    empty = [];
    if (cell && first < cell.end) {
      cell.tokens.push(...own);
      cell.end = Math.max(cell.end, last);
    } else row.cells.push({ begin: first, end: last, tokens: own });
  });
  row.after = empty;
  return row;
}

/** Return the words of a text as ranges of code points, each with the white space before it. */
export function wordsOf(text: string): Cell[] {
  let place = 0;
  return (text.match(/\s*\S+|\s+$/gu) ?? []).map((word) => {
    const begin = place;
    place += [...word].length;
    return { begin, end: place, tokens: [] };
  });
}

/**
 * Divide the text into lines of whole words. No cell of a row is divided. `widthOf(begin, end)` is the width that a
 * range needs; a line is wider than `most` only if it is a single word.
 */
export function linesOf(
  words: readonly Cell[],
  rows: readonly Row[],
  most: number,
  widthOf: (begin: number, end: number) => number,
): { begin: number; end: number }[] {
  const inside = new Set<number>(); // positions in the text that are inside a cell
  for (const { cells } of rows)
    for (const { begin, end } of cells) for (let i = begin + 1; i < end; ++i) inside.add(i);
  const lines: { begin: number; end: number }[] = [];
  let part: { begin: number; end: number } | undefined; // words that share a cell, so they are on one line
  for (const { begin, end } of words) {
    part = { begin: part?.begin ?? begin, end };
    if (inside.has(end)) continue;
    const line = lines.at(-1);
    if (line && widthOf(line.begin, part.end) <= most) line.end = part.end;
    else lines.push(part);
    part = undefined;
  }
  if (part) lines.push(part);
  return lines;
}
