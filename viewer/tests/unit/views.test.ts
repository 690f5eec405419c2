import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Store } from "../../src/store";
import { positionFacts } from "../../src/views/basics";
import { selectedToken, selectToken } from "../../src/views/layers";
import { timerOf } from "../../src/views/player";
import { listedColumns } from "../../src/views/panel";
import { tabByKey } from "../../src/views/tabs";
import { stepsOf } from "../../src/views/step_list";
import { modelWeights } from "../../src/projections";
import { drawnWeights, sumOfRows, wholeOf } from "../../src/weights";
import { vectorsOf } from "../../src/chain";
import { contributions } from "../../src/views/errors";
import { packed, packed32, sampleCapture, sampleVectors } from "../sample";

beforeEach(() => void vi.stubGlobal("history", { replaceState: () => undefined }));
afterEach(() => void vi.unstubAllGlobals());

describe("the weights that the panel lists", () => {
  const weights = [0.2, 0.15, 0.14, 0.13, 0.1, 0.09, 0.08, 0.05, 0.04, 0.015, 0.005];
  test("bound those of the other tokens", () => {
    expect(listedColumns(weights, -1)).toEqual({ shown: [0, 1, 2, 3, 4, 5, 6, 7], rest: 0.04 });
    expect(listedColumns(weights, 10)).toEqual({ shown: [0, 1, 2, 3, 4, 5, 6, 7, 10], rest: 0.04 });
    expect(listedColumns(weights, 8)).toEqual({ shown: [0, 1, 2, 3, 4, 5, 6, 7, 8], rest: 0.015 });
    expect(listedColumns([0.5, 0.5], 1)).toEqual({ shown: [0, 1], rest: undefined });
  });
});

describe("the token of “Inside a layer”", () => {
  const capture = sampleCapture({ source: ["a", "b", "c", "d", "e", "f"], target: ["x", "y"] });
  test("is a query of the shown head", () => {
    const store = new Store(capture);
    store.restore("#head=cross.1.0&row=1");
    expect(selectedToken(store, "decoder")).toBe(1);
    expect(selectedToken(store, "encoder")).toBe(0);
    selectToken(store, { side: "encoder", layer: 0 }, 5);
    expect(store.state).toMatchObject({ head: "encoder.0.2", row: 5 });
    expect(store.state.row).toBeLessThan(store.size()[0]);
    selectToken(store, { side: "encoder", layer: 1 }, 4);
    expect(store.state).toMatchObject({ head: "encoder.0.2", row: 4 });
  });
  test("is the selected row if the capture has no head of its side", () => {
    const store = new Store({
      ...capture,
      attention: capture.attention.filter(({ kind }) => kind === "cross"),
    });
    selectToken(store, { side: "encoder", layer: 0 }, 5);
    expect([selectedToken(store, "encoder"), store.state.head]).toEqual([5, "cross.1.2"]);
  });
});

describe("hidden special tokens", () => {
  test("are hidden in every head that is drawn, and rows sum to one", () => {
    const store = new Store(sampleCapture());
    for (const head of store.capture.attention.filter(({ kind }) => kind === "cross")) {
      store.update({ hideSpecial: false });
      expect(drawnWeights(store, head)![0]![3]).toBeGreaterThan(0);
      store.update({ hideSpecial: true }); // "</s>" is the last source token
      for (const row of drawnWeights(store, head)!) {
        expect(row[3]).toBe(0);
        expect(row.reduce((a, b) => a + b)).toBeCloseTo(1, 9);
      }
    }
  });
});

describe("the sum of the drawn rows", () => {
  const store = new Store(sampleCapture({ source: ["<s>", "fox", "</s>"], kind: "encoder" }));
  const head = store.current();
  test("is 100 of all tokens, or of those that are not hidden", () => {
    expect([sumOfRows(store), wholeOf(store)]).toEqual(["Each row sums to 100.", "of each row's attention"]);
    store.update({ hideSpecial: true });
    expect(sumOfRows(store)).toBe("Without the hidden tokens, each row sums to 100.");
    expect(wholeOf(store)).toBe("of each row's attention to the shown tokens");
  });
  test("is 0 of a row that attends only to hidden tokens", () => {
    const rows = [
      [0.5, 0.5, 0],
      [0, 0.5, 0.5],
      [0, 0, 1],
    ];
    head.weights = packed(rows);
    store.update({ hideSpecial: true });
    expect(drawnWeights(store)![2]).toEqual([0, 0, 0]);
    expect(sumOfRows(store)).toBe(
      "Without the hidden tokens, each row sums to 100, or to 0 if it attends only to hidden tokens.",
    );
  });
  test("is 100 of all tokens if no token is special", () => {
    const plain = new Store(sampleCapture({ kind: "decoder" }));
    plain.update({ hideSpecial: true });
    expect([sumOfRows(plain), wholeOf(plain)]).toEqual(["Each row sums to 100.", "of each row's attention"]);
  });
});

describe("a head that adds a position bias to its scores", () => {
  const capture = sampleCapture({ kind: "encoder" });
  sampleVectors(capture);
  const head = capture.attention[0]!;
  head.weights = packed(
    capture.tokens.source!.text.map((_, r) => [0, 1, 2, 3].map((c) => (c === r ? 1 : 0))),
  );
  head.values!.value = packed32([0, 1, 2, 3].map((r) => [r + 1, 0]));
  test("has the weights of the capture", () => {
    const { weights, explained } = modelWeights(head, vectorsOf(head)!);
    expect(explained).toBe(false);
    expect(weights.map((row) => row.indexOf(Math.max(...row)))).toEqual([0, 1, 2, 3]);
  });
  test("has contributions that follow from them", () => {
    expect(contributions(head, capture).finding).toContain("in 0 of 4 rows the largest contribution");
  });
});

describe("the step “Weighted sum”", () => {
  test("names the token that adds the longest vector, not the one with the largest weight", () => {
    const capture = sampleCapture({ kind: "encoder" });
    sampleVectors(capture);
    const head = capture.attention[0]!;
    const ones = [1, 1, 1, 1].map(() => [1]);
    // Equal scores except that of “fox”; its value is a thousandth of the others, of which “quick” has the longest.
    head.values = { ...head.values!, query: packed32(ones), key: packed32([[0], [0], [1], [0]]), scale: 1 };
    head.values.value = packed32([[1], [2], [0.001], [1]]);
    const step = stepsOf(new Store(capture), head, vectorsOf(head)!).find(
      ({ title }) => title === "Weighted sum",
    );
    expect(step!.sentence).toContain("“quick”");
  });
});

describe("the cosines of a position with later ones", () => {
  test("depend only on the distance, also at the last drawn position", () => {
    // Product of two encodings: Σ cos(distance / 10000^(2i/d)); the squared length of each is d/2 = 64.
    const cosineAt = (distance: number) =>
      Array.from({ length: 64 }, (_, i) => Math.cos(distance / 10000 ** (i / 64)) / 64).reduce(
        (a, b) => a + b,
      );
    const [next, further] = [1, 10].map((distance) => cosineAt(distance).toFixed(3));
    for (const p of [0, 10, 53, 54, 63])
      expect(positionFacts(p)).toContain(`cosine with the next position ${next}, ten further ${further}`);
  });
});

describe("keys in a row of tabs", () => {
  test("move the focus around the row, and to its ends", () => {
    const from = (index: number) =>
      ["ArrowRight", "ArrowLeft", "Home", "End"].map((key) => tabByKey(key, index, 5));
    expect([0, 2, 4].map(from)).toEqual([
      [1, 4, 0, 4],
      [3, 1, 0, 4],
      [0, 3, 0, 4],
    ]);
    expect(["ArrowUp", "v", "Enter"].map((key) => tabByKey(key, 2, 5))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the button Play", () => {
  test("goes to the last step of what is shown now, and then begins again", () => {
    vi.useFakeTimers();
    let [at, last, stops] = [0, 2, 0];
    const sequence = { last: () => last, at: () => at, go: (step: number) => (at = step), pause: 100 };
    const timer = timerOf(sequence, () => ++stops);
    timer.start();
    vi.advanceTimersByTime(150);
    expect([at, timer.runs()]).toEqual([1, true]);
    last = 5; // another head, which has more steps
    vi.advanceTimersByTime(400);
    expect([at, timer.runs(), stops]).toEqual([5, true, 0]);
    vi.advanceTimersByTime(100);
    expect([at, timer.runs(), stops]).toEqual([5, false, 1]);
    timer.start();
    expect(at).toBe(0);
    vi.advanceTimersByTime(150);
    last = 1; // a head with fewer steps
    vi.advanceTimersByTime(100);
    expect([at, timer.runs()]).toEqual([1, false]);
    vi.useRealTimers();
  });
});
