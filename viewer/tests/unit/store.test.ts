import { describe, expect, test } from "vitest";
import { Store } from "../../src/store";
import { sampleCapture } from "../sample";

describe("the state in the address", () => {
  test("has whole indices; fractions are ignored", () => {
    const store = new Store(sampleCapture());
    store.restore("#row=0.5&column=1.5&step=0.5&feature=2.5&written=0.5&frame=0.5&beams=2.5");
    const { row, column, step, feature, written, frame, beams } = store.state;
    expect([row, column, step, feature, written, frame, beams]).toEqual([-1, -1, 0, 0, 0, 0, 4]);
    store.restore("#row=1&column=2&temperature=0.55&top-p=0.95");
    expect(store.state).toMatchObject({ row: 1, column: 2, temperature: 0.55, topP: 0.95 });
  });
});
