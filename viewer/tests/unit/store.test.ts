import { describe, expect, test, vi } from "vitest";
import { Store } from "../../src/store";
import { sampleCapture } from "../sample";

describe("a page that shows another capture", () => {
  test("keeps the address of that capture", () => {
    let address = "";
    vi.stubGlobal("history", { replaceState: (_: unknown, __: string, to: string) => (address = to) });
    const store = new Store(sampleCapture());
    store.update({ row: 1 });
    expect(address).toContain("row=1");
    store.end();
    store.update({ row: 2 });
    expect(address).toContain("row=1");
    vi.unstubAllGlobals();
  });
});

describe("a browser that refuses frequent changes of the address", () => {
  test("gets the last state later, and the page is drawn at once", () => {
    vi.useFakeTimers();
    let [address, refuses, drawn] = ["", true, 0];
    vi.stubGlobal("history", {
      replaceState: (_: unknown, __: string, to: string) => {
        if (refuses) throw new DOMException("too many calls", "SecurityError");
        address = to;
      },
    });
    const store = new Store(sampleCapture());
    store.listen(() => ++drawn);
    store.update({ row: 1 });
    store.update({ row: 2 });
    expect([store.state.row, drawn, address]).toEqual([2, 2, ""]);
    vi.advanceTimersByTime(1500);
    refuses = false;
    vi.advanceTimersByTime(1000);
    expect(address).toContain("row=2");
    refuses = true;
    store.update({ row: 0 });
    store.end();
    refuses = false;
    vi.advanceTimersByTime(5000);
    expect(address).toContain("row=2");
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
});

describe("the state in the address", () => {
  test("has whole indices; fractions are ignored", () => {
    const store = new Store(sampleCapture());
    store.restore("#row=0.5&column=1.5&step=0.5&feature=2.5&written=0.5&frame=0.5&beams=2.5");
    const { row, column, step, feature, written, frame, beams } = store.state;
    expect([row, column, step, feature, written, frame, beams]).toEqual([-1, -1, 0, 0, 0, 0, 4]);
    store.restore("#sum=1,2,1&path=0,0");
    expect(store.state).toMatchObject({ chosen: [1, 2], path: [0] });
    store.restore("#row=1&column=2&temperature=0.55&top-p=0.95");
    expect(store.state).toMatchObject({ row: 1, column: 2, temperature: 0.55, topP: 0.95 });
  });
});
