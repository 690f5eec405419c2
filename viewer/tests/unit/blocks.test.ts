import { describe, expect, test } from "vitest";
import { stacksOf } from "../../src/blocks";
import type { Capture } from "../../src/capture.gen";
import { sampleCapture } from "../sample";

function drawn(weights: string[], positions?: "sinusoidal"): string[] {
  const capture: Capture = sampleCapture({ kind: "encoder" });
  capture.drawing = {
    kind: "encoder",
    hidden: 8,
    vocabulary: 10,
    parameters: 80,
    input: "tokens",
    ...(positions ? { positions } : {}),
    points: [{ name: "encoder.embedding", shape: [4, 8] }],
    weights: weights.map((name) => ({ name, shape: [10, 8] })),
  };
  return stacksOf(capture)[0]!.blocks.map(({ label, weights }) =>
    [label, ...weights.map(({ name }) => name)].join(": "),
  );
}

describe("the drawing of the model", () => {
  test("positions that are added to the embedding are a block of their own", () => {
    expect(drawn(["word_embeddings.weight", "position_embeddings.weight"]).slice(1, 3)).toEqual([
      "embedding: word_embeddings.weight",
      "+ learned positions: position_embeddings.weight",
    ]);
    expect(drawn(["embedding.weight"], "sinusoidal").slice(1, 3)).toEqual([
      "embedding: embedding.weight",
      "+ sinusoidal positions",
    ]);
    expect(drawn(["embed_tokens.weight"])).not.toContain("+ learned positions");
  });
});
