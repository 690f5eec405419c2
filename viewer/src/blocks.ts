// The model's blocks for its diagram, each with label, shape, inner values and weights, found from the probe points.
import type { Capture, Kind } from "./capture";

export interface Block {
  id: string; // for example "encoder.embedding", "encoder.0.self", "decoder.output"
  label: string;
  shape: number[]; // shape of the block's output
  kind?: Kind; // set only for attention blocks
  layer?: number;
  inside: { name: string; shape: number[] }[];
  weights: { name: string; shape: number[] }[];
}

export interface Stack {
  side: "encoder" | "decoder";
  title: string;
  blocks: Block[]; // in order, the input first
}

function product(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** Return the weights of a layer's block, recognised by common words in the checkpoint's names. */
function weightsOf(capture: Capture, side: string, layer: number, part: string): Block["weights"] {
  const both = capture.drawing!.kind === "encoder-decoder";
  const words: Record<string, RegExp> = {
    self: /self|attn\.|attention|\.q_|\.k_|\.v_|query|key|value|SelfAttention/i,
    cross: /cross|encoder_attn|EncDecAttention/i,
    feed_forward: /feed|mlp|fc\d|intermediate|DenseReluDense|ffn|dense/i,
  };
  return capture.drawing!.weights.filter(({ name }) => {
    if (!new RegExp(`(^|\\.)${layer}\\.`).test(name)) return false;
    if (both && !name.includes(side)) return false;
    const cross = words["cross"]!.test(name.replace(/^.*?(\d+\.)/, ""));
    const attention = !cross && words["self"]!.test(name.replace(/^.*?(\d+\.)/, ""));
    if (part === "cross") return cross;
    if (part === "self") return attention;
    return !cross && !attention && words["feed_forward"]!.test(name);
  });
}

function inputLabel(capture: Capture, side: string): string {
  const { patches, input, kind } = capture.drawing!;
  if (side === "decoder" && kind === "encoder-decoder") return "target tokens";
  if (patches) return `${patches.rows} × ${patches.columns} patches`;
  return input === "features" ? "frames of features" : "tokens";
}

function titleOf(capture: Capture, side: string): string {
  const { kind } = capture.drawing!;
  if (kind === "encoder-decoder") return side;
  return `${kind}-only`;
}

function isPosition({ name }: { name: string }): boolean {
  return /wpe|position_embedding|embed_position/i.test(name);
}

/** Whether vectors of positions are added to the embeddings; undefined if it is not known. */
export function addsPositions({ drawing }: Capture): boolean | undefined {
  return drawing && (drawing.positions !== undefined || drawing.weights.some(isPosition));
}

/** Return the blocks that make the first hidden states: the embedding and, if they are added, the positions. */
function embeddingBlocks(capture: Capture, side: string, shape: number[]): Block[] {
  const { weights, positions, kind } = capture.drawing!;
  const other = kind === "encoder-decoder" && (side === "encoder" ? /decoder/ : /encoder/);
  const own = weights.filter(({ name }) => !(other && other.test(name)));
  const learned = own.filter(isPosition);
  const embedding = own.filter((weight) => /emb|wte|shared|patch/i.test(weight.name) && !isPosition(weight));
  const block = (id: string, label: string, weights: Block["weights"]): Block => ({
    id: `${side}.${id}`,
    label,
    shape,
    inside: [],
    weights,
  });
  return [
    block("embedding", "embedding", embedding),
    ...(positions || learned.length > 0
      ? [block("positions", positions ? "+ sinusoidal positions" : "+ learned positions", learned)]
      : []),
  ];
}

/** Return one stack of blocks for each side of the model. */
export function stacksOf(capture: Capture): Stack[] {
  const { drawing } = capture;
  if (!drawing) return [];
  const shape = (name: string) => drawing.points.find((point) => point.name === name)?.shape;
  const inside = (prefix: string) =>
    drawing.points
      .filter(({ name }) => name.startsWith(`${prefix}.`))
      .map(({ name, shape, heads }) => ({
        name: name.slice(prefix.length + 1) + (heads ? ` (${heads} heads of ${shape.at(-1)! / heads})` : ""),
        shape,
      }));
  return (["encoder", "decoder"] as const).flatMap((side) => {
    const embedding = shape(`${side}.embedding`);
    if (!embedding) return [];
    const blocks: Block[] = [
      {
        id: `${side}.input`,
        label: inputLabel(capture, side),
        shape: [embedding[0]!],
        inside: [],
        weights: [],
      },
      ...embeddingBlocks(capture, side, embedding),
    ];
    for (let layer = 0; shape(`${side}.${layer}.residual`); ++layer) {
      for (const [part, label, kind] of [
        ["self", "self-attention", side],
        ["cross", "cross-attention", "cross"],
        ["feed_forward", "feed-forward", undefined],
      ] as const) {
        const values = inside(`${side}.${layer}.${part}`);
        if (values.length === 0) continue;
        blocks.push({
          id: `${side}.${layer}.${part}`,
          label: `${label} ${layer}`,
          shape: shape(`${side}.${layer}.${part}.output`) ?? embedding,
          ...(kind ? { kind } : {}),
          layer,
          inside: values,
          weights: weightsOf(capture, side, layer, part),
        });
      }
    }
    const last = shape(`${side}.output`) ?? embedding;
    if (side === "decoder" || drawing.kind === "encoder")
      blocks.push({
        id: `${side}.output`,
        label: capture.steps ? "logits → softmax" : "last hidden states",
        shape: capture.steps ? [last[0]!, drawing.vocabulary] : last,
        inside: [],
        weights: [],
      });
    return [{ side, title: titleOf(capture, side), blocks }];
  });
}

/** Return the number of parameters in the known weights of a block. */
export function parametersOf(block: Block): number {
  return block.weights.reduce((sum, { shape }) => sum + product(shape), 0);
}
