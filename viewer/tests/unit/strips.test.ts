import { expect, test } from "vitest";
import type { TokenizedText } from "../../src/capture.gen";
import { linesOf, rowOf, wordsOf } from "../../src/strips";

function tokenized(places: [number, number][]): TokenizedText {
  return {
    name: "t",
    type: "BPE",
    vocabulary: 10,
    tokens: { text: places.map((_, i) => String(i)) },
    begin: places.map(([begin]) => begin),
    end: places.map(([, end]) => end),
  };
}

test("special tokens precede and follow the cells", () => {
  const row = rowOf(
    tokenized([
      [0, 0],
      [0, 3],
      [3, 5],
      [0, 0],
    ]),
  );
  expect(row).toEqual({
    before: [0],
    cells: [
      { begin: 0, end: 3, tokens: [1] },
      { begin: 3, end: 5, tokens: [2] },
    ],
    after: [3],
  });
});

test("tokens that share a character are in one cell", () => {
  const bytes = rowOf(
    tokenized([
      [0, 1],
      [1, 2],
      [1, 2],
      [1, 3],
    ]),
  );
  expect(bytes.cells).toEqual([
    { begin: 0, end: 1, tokens: [0] },
    { begin: 1, end: 3, tokens: [1, 2, 3] },
  ]);
});

test("a token without characters inside the text joins the next cell", () => {
  const row = rowOf(
    tokenized([
      [0, 1],
      [1, 1],
      [1, 2],
    ]),
  );
  expect(row.cells[1]).toEqual({ begin: 1, end: 2, tokens: [1, 2] });
  expect([row.before, row.after]).toEqual([[], []]);
});

test("words count code points and have the white space before them", () => {
  expect(wordsOf("a 🙂🙂  b ").map(({ begin, end }) => [begin, end])).toEqual([
    [0, 1],
    [1, 4],
    [4, 7],
    [7, 8],
  ]);
});

test("lines have whole words, and no cell is divided", () => {
  const text = "aa bb cc dd";
  const joined = rowOf(
    tokenized([
      [0, 2],
      [2, 8], // covers two words
      [8, 11],
    ]),
  );
  const width = (begin: number, end: number) => end - begin;
  expect(linesOf(wordsOf(text), [], 6, width)).toEqual([
    { begin: 0, end: 5 },
    { begin: 5, end: 11 },
  ]);
  expect(linesOf(wordsOf(text), [joined], 6, width)).toEqual([
    { begin: 0, end: 2 },
    { begin: 2, end: 8 },
    { begin: 8, end: 11 },
  ]);
  expect(linesOf(wordsOf(text), [], 1, width)).toHaveLength(4); // a word may be wider than a line
});
