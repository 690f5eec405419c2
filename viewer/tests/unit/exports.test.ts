import { expect, test } from "vitest";
import { canSave, formats, pngCell } from "../../src/exports";
import { Store } from "../../src/store";
import { sampleCapture } from "../sample";

test("a PNG of many tokens has smaller cells, so that the browser can save it", () => {
  expect(pngCell(14, 9)).toBe(30);
  expect(pngCell(14, 500)).toBe(30);
  expect(pngCell(2048, 2048)).toBe(7);
  expect(pngCell(1, 1)).toBe(30);
});

test("only the capture can be saved if it has a thumbnail of the shown head", () => {
  const store = new Store(sampleCapture({ withWeights: 2 }));
  const saved = (head: string) => {
    store.restore(`#head=${head}`);
    return formats.filter((format) => canSave(store, format));
  };
  expect(saved("encoder.0.1")).toEqual(["svg", "png", "csv", "json"]);
  expect(saved("encoder.1.1")).toEqual(["json"]);
});
