import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import {
  CaptureError,
  columnTokens,
  distanceUnit,
  firstHead,
  headKey,
  mostTelling,
  readCapture,
  rowTokens,
  weightsOf,
} from "../../src/capture";
import type { Capture, Head, Packed } from "../../src/capture.gen";
import { fixed } from "../../src/dom";
import { largestOf, nextTokenProbabilities } from "../../src/math";
import { rowsOf } from "../../src/packed";
import { decoded, shownTokens, wholeCharacter } from "../../src/tokens";
import {
  packed,
  sampleBeams,
  sampleCapture,
  sampleFilm,
  sampleSteps,
  sampleTokenizers,
  sampleVectors,
} from "../sample";

describe("readCapture", () => {
  test("labels rows of cross-attention with the tokens that they generated", () => {
    const read = readCapture(sampleCapture());
    const find = (kind: string) => read.attention.find((head) => head.kind === kind)!;
    expect(rowTokens(read, find("cross"))).toEqual(["der", "Fuchs", "</s>"]);
    expect(columnTokens(read, find("cross"))).toEqual(["the", "quick", "fox", "</s>"]);
    expect(rowTokens(read, find("decoder"))).toEqual(["<s>", "der", "Fuchs"]);
  });
  test("opens on the most telling head that has weights", () => {
    expect(headKey(firstHead(readCapture(sampleCapture())))).toBe("cross.1.2");
    expect(headKey(firstHead(readCapture(sampleCapture({ withWeights: 2 }))))).toBe("encoder.0.1");
  });
  test("refuses what it cannot show", () => {
    const capture = sampleCapture();
    expect(() => readCapture(null)).toThrow(CaptureError);
    expect(() => readCapture({ ...capture, attention: [] })).toThrow("no attention");
    expect(() => readCapture({ ...capture, version: 1 })).toThrow("version 2");
    expect(() => readCapture({ ...capture, tokens: { ...capture.tokens, source: { text: ["a"] } } })).toThrow(
      "expected 1 × 1",
    );
    const cut = { ...packed([[1]]), data: "" };
    expect(() =>
      readCapture({
        ...capture,
        tokens: { source: { text: ["a"] } },
        attention: [{ ...capture.attention[0]!, weights: cut }],
      }),
    ).toThrow("1 × 1");
  });
  test("names the damaged values of a capture", () => {
    const damaged = (change: (capture: Capture) => void) => {
      const capture = sampleCapture();
      sampleVectors(capture);
      capture.compared = sampleCapture();
      readCapture(capture);
      change(capture);
      return () => readCapture(capture);
    };
    const short = damaged(({ activations }) => ((activations![1]!.values as Packed).data = btoa("abcd")));
    expect(short).toThrow("activations[1].values: expected 4 × 8 values of 32 bits");
    expect(damaged(({ activations }) => ((activations![1]!.values as Packed).rows = 1e12))).toThrow(
      CaptureError,
    );
    const thumbnail = damaged(({ attention }) => {
      const { data } = attention[2]!.thumbnail as Packed;
      (attention[2]!.thumbnail as Packed).data = "!" + data.slice(1);
    });
    expect(thumbnail).toThrow("attention[2].thumbnail");
    expect(damaged(({ compared }) => (compared!.version = 3 as 2))).toThrow("version 2");
  });
  test("names the members that are missing or of another type", () => {
    const without = (change: (capture: Record<string, unknown> & Capture) => unknown) => {
      const capture = sampleCapture();
      sampleSteps(capture);
      change(capture as Record<string, unknown> & Capture);
      return () => readCapture(JSON.parse(JSON.stringify(capture)));
    };
    expect(without(() => undefined)).not.toThrow();
    for (const name of ["model", "text", "tokens", "ablated", "interventions"]) {
      expect(without((capture) => (capture[name] = undefined))).toThrow(CaptureError);
      expect(without((capture) => (capture[name] = undefined))).toThrow(`${name}: expected`);
    }
    for (const name of ["kind", "layer", "entropy", "telling", "pattern", "caption", "thumbnail"])
      expect(
        without(
          (capture) => ((capture.attention[1] as unknown as Record<string, unknown>)[name] = undefined),
        ),
      ).toThrow(`attention[1].${name}: expected`);
    expect(without((capture) => (capture.attention[0]!.kind = "constructor" as "cross"))).toThrow(
      "attention[0].kind: expected",
    );
    expect(without((capture) => capture.tokens.source!.special!.pop())).toThrow(
      "tokens.source.special: expected a list of 4 elements, as many as in text",
    );
    expect(without((capture) => (capture.tokens.target!.text[1] = 5 as unknown as string))).toThrow(
      "tokens.target.text: expected a list of strings",
    );
    expect(without((capture) => capture.steps![2]!.logits.pop())).toThrow("steps[2].logits: expected");
    expect(() => readCapture({ version: 2, attention: [null] })).toThrow(CaptureError);
    const steps = { version: 2, attention: [1], steps: 5 };
    expect(() => readCapture(steps)).toThrow(CaptureError);
  });
  test("the samples of the tests fit the schema", () => {
    const schema = JSON.parse(readFileSync("../docs/capture.schema.json", "utf8")) as object;
    const fits = new Ajv2020().compile(schema);
    for (const kind of ["encoder", "decoder", "encoder-decoder"] as const)
      expect(fits(sampleCapture({ kind, withWeights: 1 })), JSON.stringify(fits.errors)).toBe(true);
    const all = sampleCapture();
    for (const add of [sampleTokenizers, sampleBeams, sampleFilm]) add(all);
    expect(fits(all), JSON.stringify(fits.errors)).toBe(true);
    expect(fits({ ...sampleCapture(), more: 1 })).toBe(false);
  });
});

describe("packed matrices", () => {
  test("8 bits are exact to half a step of the row's largest value", () => {
    const rows = [
      [0.7, 0.2, 0.1],
      [0.001, 0.002, 0.003],
    ];
    rowsOf(packed(rows)).forEach((row, r) =>
      row.forEach((x, c) =>
        expect(Math.abs(x - rows[r]![c]!)).toBeLessThanOrEqual(Math.max(...rows[r]!) / 510 + 1e-12),
      ),
    );
  });
  test("32 bits are little-endian f32", () => {
    expect(rowsOf({ rows: 1, columns: 2, bits: 32, data: btoa("\x00\x00\x80\x3f\x00\x00\x20\xc0") })).toEqual(
      [[1, -2.5]],
    );
  });
  test("heads without weights have none", () => {
    expect(weightsOf(sampleCapture({ withWeights: 0 }).attention[0]!)).toBeUndefined();
  });
});

describe("tokens", () => {
  test("spaces and parts of characters are shown as what they stand for", () => {
    const tokens = {
      text: ["▁the", "▁", " ", "##ly", "Ġà¤", "ķ", "[SEP]"],
      bytes: ["20746865", "20", "20", "6c79", "20e0a4", "95", "5b5345505d"],
      special: [false, false, false, false, false, false, true],
    };
    expect(shownTokens(tokens)).toEqual(["the", "␣", "␣", "##ly", "‹20 E0 A4›", "‹95›", "[SEP]"]);
    expect(wholeCharacter(tokens, 4)).toBe(" क");
    expect(wholeCharacter(tokens, 5)).toBe(" क");
    expect(wholeCharacter(tokens, 0)).toBeUndefined();
    expect(decoded("e0a495")).toBe("क");
  });

  test("shows control characters, and what XML does not allow, as bytes", () => {
    const text = ["a\u0001b", "\u001b\r", "\u0085", "\ufffe", "\ud800", "😀", "\u00a0"];
    const special = [false, true, false, false, false, false, false];
    const shown = ["a‹01›b", "‹1B›‹0D›", "‹C2 85›", "‹EF BF BE›", "‹EF BF BD›", "😀", "\u00a0"];
    expect(shownTokens({ text, special })).toEqual(shown);
  });
});

describe("the mean distance of a head", () => {
  const size = { hidden: 8, vocabulary: 9, parameters: 1, points: [], weights: [] };
  const capture = sampleCapture();
  const [encoder, decoder] = ["encoder", "decoder"].map((kind) =>
    capture.attention.find((head) => head.kind === kind)!,
  ) as [Head, Head];
  const units = (drawing: Capture["drawing"]) =>
    [encoder, decoder].map((head) => distanceUnit({ ...capture, ...(drawing ? { drawing } : {}) }, head));
  test("is in patches of a picture and in positions of a sound", () => {
    const kind = "encoder-decoder";
    const patches = { rows: 2, columns: 2, specials: 0 };
    expect(units(undefined)).toEqual(["tokens", "tokens"]);
    expect(units({ kind, input: "tokens", ...size })).toEqual(["tokens", "tokens"]);
    expect(units({ kind, input: "pixels", patches, ...size })).toEqual(["patches", "tokens"]);
    expect(units({ kind, input: "features", ...size })).toEqual(["positions", "tokens"]);
  });
});

describe("a capture of a model with numbers that are not finite", () => {
  const broken = () => {
    const capture = sampleCapture();
    sampleSteps(capture);
    capture.precision = "f32";
    capture.attention[0]!.weights = [1, 2, 3, 4].map(() => [NaN, 0, 0, 1]);
    capture.attention[0]!.distance = capture.attention[0]!.telling = NaN;
    capture.steps![0]!.logits[4] = -Infinity;
    capture.steps![1]!.log_sum_exp = capture.steps![1]!.logits[0] = NaN;
    return readCapture(JSON.parse(JSON.stringify(capture))); // JSON has null for each of them
  };
  test("has NaN, which has a text", () => {
    const { attention } = broken();
    expect(weightsOf(attention[0]!)![0]).toEqual([NaN, 0, 0, 1]);
    expect(fixed(attention[0]!.distance!)).toBe("NaN");
    expect(attention[1]!.distance).toBe(2.5);
    expect(largestOf(weightsOf(attention[0]!)!)).toBe(1);
    expect(mostTelling(attention.slice(0, 2))).toBe(attention[1]);
  });
  test("has excluded tokens of probability 0", () => {
    const steps = broken().steps!;
    expect(steps[0]!.logits[4]).toBe(-Infinity);
    expect(steps[1]!.logits[0]).toBeNaN();
    const all = { temperature: 1, topK: 0, topP: 1 };
    expect(nextTokenProbabilities(steps[0]!.logits, steps[0]!.log_sum_exp, all)[4]).toBe(0);
  });
});
