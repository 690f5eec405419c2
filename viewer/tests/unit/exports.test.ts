import { expect, test } from "vitest";
import { pngCell } from "../../src/exports";

test("a PNG of many tokens has smaller cells, so that the browser can save it", () => {
  expect(pngCell(14, 9)).toBe(30);
  expect(pngCell(14, 500)).toBe(30);
  expect(pngCell(2048, 2048)).toBe(7);
  expect(pngCell(1, 1)).toBe(30);
});
