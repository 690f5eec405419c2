import { describe, expect, test } from "vitest";
import { listedColumns } from "../../src/views/panel";

describe("the weights that the panel lists", () => {
  const weights = [0.2, 0.15, 0.14, 0.13, 0.1, 0.09, 0.08, 0.05, 0.04, 0.015, 0.005];
  test("bound those of the other tokens", () => {
    expect(listedColumns(weights, -1)).toEqual({ shown: [0, 1, 2, 3, 4, 5, 6, 7], rest: 0.04 });
    expect(listedColumns(weights, 10)).toEqual({ shown: [0, 1, 2, 3, 4, 5, 6, 7, 10], rest: 0.04 });
    expect(listedColumns(weights, 8)).toEqual({ shown: [0, 1, 2, 3, 4, 5, 6, 7, 8], rest: 0.015 });
    expect(listedColumns([0.5, 0.5], 1)).toEqual({ shown: [0, 1], rest: undefined });
  });
});
