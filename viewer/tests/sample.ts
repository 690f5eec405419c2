// Captures made by the tests: hand-made weights of any shape of model.
import type { Capture, Head, Packed } from "../src/capture.gen";
import { product, softmaxRows, weightedSums } from "../src/math";
import { rowsOf } from "../src/packed";

export interface Sample {
  kind?: "encoder" | "decoder" | "encoder-decoder";
  source?: string[];
  target?: string[];
  layers?: number;
  heads?: number;
  withWeights?: number; // number of heads with weights; the others have only a thumbnail
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** Rows that sum to one, packed in 8 bits as the program packs them. */
export function packed(rows: number[][]): Packed {
  const columns = rows[0]?.length ?? 0;
  const scale = rows.map((row) => Math.max(...row));
  const bytes = new Uint8Array(rows.length * columns);
  rows.forEach((row, r) =>
    row.forEach((x, c) => (bytes[r * columns + c] = Math.round((255 * x) / (scale[r] || 1)))),
  );
  return { rows: rows.length, columns, bits: 8, scale, data: base64(bytes) };
}

/** A function that returns a row of weights. Few values of exp() occur in all rows, so each is computed once. */
function attention(columns: number, causal: boolean, shift: number): (row: number) => number[] {
  const known = new Map<number, number>();
  return (r) => {
    const row = Array.from({ length: columns }, (_, c) => {
      if (causal && c > r) return 0;
      const [distance, step] = [r + shift - c, (r * 7 + c * 13) % 5];
      const key = 5 * distance + step;
      let value = known.get(key);
      if (value === undefined) known.set(key, (value = Math.exp(3 * Math.cos(distance * 0.9) + step / 5)));
      return value;
    });
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((x) => x / sum);
  };
}

function head(
  kind: Head["kind"],
  layer: number,
  index: number,
  rows: number,
  columns: number,
  full: boolean,
): Head {
  const rowAt = attention(columns, kind === "decoder", layer + index);
  const [down, across] = [Math.min(32, rows), Math.min(32, columns)];
  const cells = Array.from({ length: down }, (_, r) => {
    const row = rowAt(Math.floor((r * rows) / down));
    return Array.from({ length: across }, (_, c) => row[Math.floor((c * columns) / across)]!);
  });
  const most = Math.max(...cells.flat());
  const thumbnail = packed([cells.flat()]);
  return {
    kind,
    layer,
    head: index,
    entropy: 1.5 + 0.1 * index,
    ...(kind === "cross" ? {} : { distance: 2.5 }),
    pattern: "content",
    share: 0.2,
    telling: (kind === "cross" ? 1 : 0) + (layer * 10 + index) / 1000,
    caption: "No single position explains the weights: they depend on the tokens.",
    thumbnail: { ...thumbnail, rows: down, columns: across, scale: [most] },
    ...(full ? { weights: packed(Array.from({ length: rows }, (_, r) => rowAt(r))) } : {}),
  };
}

export function sampleCapture({
  kind = "encoder-decoder",
  source = ["the", "quick", "fox", "</s>"],
  target = ["<s>", "der", "Fuchs"],
  layers = 2,
  heads = 3,
  withWeights = Infinity,
}: Sample = {}): Capture {
  const kinds: Head["kind"][] =
    kind === "encoder" ? ["encoder"] : kind === "decoder" ? ["decoder"] : ["encoder", "decoder", "cross"];
  const written = [...target.slice(1), "</s>"];
  const attentionHeads: Head[] = [];
  for (const each of kinds)
    for (let layer = 0; layer < layers; ++layer)
      for (let index = 0; index < heads; ++index) {
        const rows = each === "encoder" ? source.length : target.length;
        const columns = each === "decoder" ? target.length : source.length;
        attentionHeads.push(head(each, layer, index, rows, columns, attentionHeads.length < withWeights));
      }
  return {
    format: "regard-capture",
    version: 2,
    precision: "8 bit",
    model: "sample",
    text: source.join(" "),
    tokens: {
      ...(kind === "decoder"
        ? {}
        : { source: { text: source, special: source.map((each) => each === "</s>") } }),
      ...(kind === "encoder" ? {} : { target: { text: target }, written: { text: written } }),
    },
    ablated: [],
    interventions: [],
    attention: attentionHeads,
  };
}

/** Rows packed as 32-bit floats. */
export function packed32(rows: number[][]): Packed {
  const bytes = new Uint8Array(new Float32Array(rows.flat()).buffer);
  return { rows: rows.length, columns: rows[0]?.length ?? 0, bits: 32, data: base64(bytes) };
}

/** Add next-token logits: the written token and four others. */
export function sampleSteps(capture: Capture): void {
  const written = capture.tokens.written!;
  written.ids = written.text.map((_, i) => 10 + i);
  capture.steps = written.text.map((text, i) => {
    const logits = [4, 2.5, 1.5, 1, 0.5].map((x, n) => x - 0.2 * ((i + n) % 3));
    return {
      ids: [10 + i, 1, 2, 3, 4],
      text: [text, "वह", "और", "का", "है"],
      logits,
      log_sum_exp: Math.log(logits.reduce((sum, x) => sum + Math.exp(x), 0)) + 0.1,
      written_logit: logits[0]!,
    };
  });
}

/** Add vectors to the heads, and states after each layer. */
export function sampleVectors(capture: Capture, size = 8): void {
  const rows = (count: number, seed: number) =>
    Array.from({ length: count }, (_, r) =>
      Array.from({ length: size }, (_, c) => Math.sin(1 + seed * 1.3 + r * 0.7 + c * 1.9)),
    );
  for (const each of capture.attention) {
    const seed = each.layer * 3 + (each.head ?? 0);
    const queries = each.kind === "encoder" ? capture.tokens.source! : capture.tokens.target!;
    const keys = each.kind === "decoder" ? capture.tokens.target! : capture.tokens.source!;
    each.values = {
      query: packed32(rows(queries.text.length, seed)),
      key: packed32(rows(keys.text.length, seed + 5)),
      value: packed32(rows(keys.text.length, seed + 9)),
      scale: size ** -0.5,
      causal: each.kind === "decoder",
    };
  }
  const tokens = capture.tokens.source!.text;
  const state = (seed: number) =>
    packed32(
      rows(tokens.length, 0).map((row, r) => row.map((x, c) => x + seed * Math.cos(r * tokens.length + c))),
    );
  const names = ["encoder.embedding", "encoder.0.self.input", "encoder.0.residual", "encoder.1.residual"];
  capture.activations = names.map((name, i) => ({ name, values: state(0.3 * i) }));
}

/** f32 rows, packed in 16 bits as the program packs parameters. */
export function packed16(rows: number[][]): Packed {
  const scale = rows.map((row) => Math.max(...row.map(Math.abs)));
  const numbers = rows.flatMap((row, r) => row.map((x) => Math.round((x / (scale[r] || 1)) * 32767)));
  const data = base64(new Uint8Array(new Int16Array(numbers).buffer));
  return { rows: rows.length, columns: rows[0]?.length ?? 0, bits: 16, scale, data };
}

/**
 * Give the heads of the encoder's layer 0 parameters, and the queries, keys and values that follow from them. The
 * capture has vectors (sampleVectors()).
 */
export function sampleParameters(capture: Capture): void {
  const input = rowsOf(capture.activations!.find(({ name }) => name === "encoder.0.self.input")!.values);
  const hidden = input[0]!.length;
  const heads = capture.attention.filter(({ kind, layer }) => kind === "encoder" && layer === 0);
  const bias = Array.from({ length: hidden }, (_, i) => 0.1 * i);
  const sum = input.map(() => [...bias]);
  for (const head of heads) {
    const matrix = (rows: number, columns: number, seed: number) =>
      Array.from({ length: rows }, (_, r) =>
        Array.from({ length: columns }, (_, c) => 0.5 * Math.sin(seed + 2.1 * r + 0.9 * c + head.head!)),
      );
    const weights = [1, 2, 3].map((seed) => matrix(hidden, 4, seed)) as [number[][], number[][], number[][]];
    const out = matrix(4, hidden, 4);
    const [query, key, value] = weights.map((weight) => product(input, weight)) as typeof weights;
    head.values = {
      ...head.values!,
      query: packed32(query.map((row) => row.map((x) => x + 0.25))),
      key: packed32(key),
      value: packed32(value),
      scale: 0.5,
    };
    const scores = query.map((q) => key.map((k) => 0.5 * q.reduce((s, x, i) => s + (x + 0.25) * k[i]!, 0)));
    head.weights = packed(softmaxRows(scores));
    const output = product(weightedSums(softmaxRows(scores), value), out);
    output.forEach((row, r) => row.forEach((x, i) => (sum[r]![i]! += x)));
    head.parameters = {
      query: { weight: packed16(weights[0]), bias: [0.25, 0.25, 0.25, 0.25] },
      key: { weight: packed16(weights[1]) },
      value: { weight: packed16(weights[2]) },
      output: { weight: packed16(out), bias },
    };
  }
  capture.activations!.push({ name: "encoder.0.self.output", values: packed32(sum) });
}

/** Add the text under two tokenizers: one token for each word, and one for each two characters. */
export function sampleTokenizers(capture: Capture): void {
  const points = [...capture.text];
  const places: [number, number][] = [];
  points.forEach((point, i) => {
    if (point === " ") return;
    const before = places.at(-1);
    if (before && before[1] === i) before[1] = i + 1;
    else places.push([i, i + 1]);
  });
  const pairs = places.flatMap(([begin, end]) =>
    Array.from({ length: Math.ceil((end - begin) / 2) }, (_, i): [number, number] => [
      begin + 2 * i,
      Math.min(end, begin + 2 * i + 2),
    ]),
  );
  const tokenized = (name: string, type: string, all: [number, number][], special: string) => {
    const text = [...all.map(([begin, end]) => points.slice(begin, end).join("")), special];
    return {
      name,
      type,
      vocabulary: 1000,
      tokens: { text, ids: text.map((_, i) => 10 + i), special: text.map((each) => each === special) },
      begin: [...all.map(([begin]) => begin), 0],
      end: [...all.map(([, end]) => end), 0],
    };
  };
  capture.tokenizers = [
    tokenized(capture.model, "WordLevel", places, "</s>"),
    tokenized("pairs", "BPE", pairs, "[SEP]"),
  ];
}

/** Add a beam search of three steps and two beams: "ab." is the result, "ac" is dropped, "d." has rank 2. */
export function sampleBeams(capture: Capture): void {
  const node = (parent: number, text: string, log_probability: number, tokens: number) => ({
    parent,
    id: text.codePointAt(0)!,
    text,
    log_probability,
    score: log_probability / tokens,
  });
  capture.beams = {
    width: 2,
    length_penalty: 1,
    steps: [
      { kept: [node(0, "a", -0.5, 1), node(0, "d", -1.25, 1)], finished: [] },
      {
        kept: [node(0, "b", -0.75, 2), node(0, "c", -1.5, 2)],
        finished: [{ ...node(1, ".", -2, 2), ended: true }],
      },
      { kept: [node(0, "e", -2.5, 3)], finished: [{ ...node(0, ".", -1, 3), ended: true }] },
    ],
    ranking: [
      { step: 2, finished: 0 },
      { step: 1, finished: 0 },
    ],
  };
}

/** Add two checkpoints: in the first, the weights of two heads are uniform; the second has those of the capture. */
export function sampleFilm(capture: Capture): void {
  const heads = capture.attention.filter(({ kind, layer }) => kind === "cross" && layer === 1).slice(0, 2);
  const now = heads.map(({ weights }) => weights!);
  const before = now.map((weights) => packed(rowsOf(weights).map((row) => row.map(() => 1 / row.length))));
  capture.film = {
    heads: heads.map(({ kind, layer, head }) => `${kind}.${layer}.${head}`),
    frames: [
      { step: 10, translation: "der", log_probability: -2.5, weights: before },
      { step: 200, translation: "der Fuchs", log_probability: -0.25, weights: now },
    ],
  };
}
