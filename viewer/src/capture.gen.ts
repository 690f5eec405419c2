// Types of docs/capture.schema.json. Written by `npm run types`; do not edit.

export type Matrix = number[][] | Packed;

/**
 * What a model did with one input. docs/capture-format.md explains the format.
 */
export interface Capture {
  format: "regard-capture";
  version: 2;
  /**
   * Of attention weights.
   */
  precision: "8 bit" | "f32";
  /**
   * Name of the model as given.
   */
  model: string;
  /**
   * The input text, or the file name of an image or sound.
   */
  text: string;
  /**
   * The second text of a pair.
   */
  pair?: string;
  /**
   * The target or the continuation as text.
   */
  translation?: string;
  /**
   * Of a decoder with a continuation: the number of tokens of the text before it.
   */
  prompt_tokens?: number;
  /**
   * With ablated heads: what the model generates without ablation.
   */
  translation_without_ablation?: string;
  /**
   * With a given target and ablated heads or interventions: what the model generates itself.
   */
  translation_generated?: string;
  /**
   * source: input of the encoder; target: input of the decoder; written: the token generated at each target position.
   */
  tokens: {
    source?: Tokens;
    target?: Tokens;
    written?: Tokens;
  };
  /**
   * Words of the text that occur in no sentence that the model was trained on; absent: none, or not known.
   */
  unseen_words?: string[];
  /**
   * Heads whose output was multiplied by 0, as KIND.LAYER.HEAD.
   */
  ablated: string[];
  /**
   * Further interventions in the pass, in order.
   */
  interventions: Intervention[];
  drawing?: Drawing;
  attention: Head[];
  /**
   * In the order of the pass.
   */
  activations?: Activation[];
  /**
   * One for each written token.
   */
  steps?: Step[];
  /**
   * The same input with one head switched off: the most telling heads, in their order.
   */
  what_if?: WhatIf[];
  picture?: Picture;
  sound?: Sound;
  compared?: Capture;
  /**
   * Sentences that say what was left out to limit the size.
   */
  left_out?: string;
}
/**
 * Arrays of equal length.
 */
export interface Tokens {
  /**
   * As displayed.
   */
  text: string[];
  ids?: number[];
  /**
   * The bytes that the token represents, in hexadecimal; may end inside a character.
   */
  bytes?: string[];
  /**
   * Whether the token is special: a separator, a start or an end token.
   */
  special?: boolean[];
  /**
   * Whether the token is part of a word that occurs in no sentence that the model was trained on; absent: none is, or it is not known.
   */
  unseen?: boolean[];
}
export interface Intervention {
  /**
   * The action: zero, mean, patch, add, scale, uniform, replace.
   */
  kind: string;
  /**
   * Head (KIND.LAYER.HEAD), layer or probe point.
   */
  at: string;
  /**
   * The intervention as it was given.
   */
  detail?: string;
}
/**
 * The model's parts and their shapes.
 */
export interface Drawing {
  kind: "encoder" | "decoder" | "encoder-decoder";
  hidden: number;
  vocabulary: number;
  parameters: number;
  /**
   * What the first side reads.
   */
  input: "tokens" | "pixels" | "features";
  /**
   * Sinusoids of Vaswani et al. 2017, section 3.5, are added to the embeddings; absent: other positions, or unknown ones.
   */
  positions?: "sinusoidal";
  /**
   * Images: special tokens, then a grid of patches, row by row.
   */
  patches?: {
    rows: number;
    columns: number;
    specials: number;
  };
  /**
   * Values of the pass, in its order.
   */
  points: {
    /**
     * Such as encoder.0.self.query.
     */
    name: string;
    shape: number[];
    /**
     * Of a query.
     */
    heads?: number;
  }[];
  /**
   * Weights by their names in the checkpoint.
   */
  weights: {
    name: string;
    shape: number[];
  }[];
}
/**
 * One head, or the average of a layer's heads. thumbnail: at most 32 × 32 cells, each the largest weight that it covers. weights: [queries, keys]; absent if left out.
 */
export interface Head {
  kind: "encoder" | "decoder" | "cross";
  layer: number;
  head?: number;
  /**
   * Instead of head: the averaged heads.
   */
  average_of_heads?: number[];
  /**
   * Mean over the queries, in bits.
   */
  entropy: number;
  /**
   * Self-attention: mean distance of query and key in tokens, weighted.
   */
  distance?: number;
  pattern:
    "previous" | "next" | "same" | "same word" | "first" | "special" | "diagonal" | "spread" | "content";
  /**
   * Weight that the pattern covers, 0 to 1.
   */
  share: number;
  /**
   * Rank for display, the largest first.
   */
  telling: number;
  /**
   * One sentence.
   */
  caption: string;
  thumbnail: Packed;
  weights?: Matrix;
  /**
   * Of a sound's encoder head without weights: the mean of its weights over the queries, then the weights of each special token's query: [1 + specials, keys].
   */
  received?: number[][] | Packed;
  values?: HeadValues;
}
/**
 * A matrix. data: base64 of its values, row by row. bits 32: little-endian f32. bits 8: a value is scale · byte / 255, with one scale for each row, or one for all.
 */
export interface Packed {
  rows: number;
  columns: number;
  bits: 8 | 32;
  scale?: number[];
  data: string;
}
/**
 * What the head computed its weights from, after position encodings and head norms: query [queries, size], key [keys, size], value [keys, value size].
 */
export interface HeadValues {
  query: Matrix;
  key: Matrix;
  value: Matrix;
  /**
   * Factor of query keyᵀ.
   */
  scale: number;
  causal: boolean;
}
/**
 * A value of the pass [tokens, features].
 */
export interface Activation {
  /**
   * Probe point, such as encoder.0.residual.
   */
  name: string;
  values: Matrix;
}
/**
 * The model's logits for one written token: the most probable tokens, the largest first.
 */
export interface Step {
  ids: number[];
  text: string[];
  /**
   * Before any filter.
   */
  logits: number[];
  /**
   * Over the whole vocabulary: exp(logit − log_sum_exp) is the probability.
   */
  log_sum_exp: number;
  /**
   * Of the token that was written.
   */
  written_logit: number;
}
/**
 * What changes with one head switched off.
 */
export interface WhatIf {
  /**
   * The head, as KIND.LAYER.HEAD.
   */
  off: string;
  /**
   * What the model generates without the head.
   */
  translation?: string;
  /**
   * Mean log-probability (nats) that the written tokens lose without the head.
   */
  lost?: number;
  /**
   * Of the tokens that the whole model wrote, without the head.
   */
  steps?: Step[];
  /**
   * Other heads by how much their weights change: mean over the queries of half the sum of absolute differences, largest first.
   */
  changes: {
    /**
     * KIND.LAYER.HEAD
     */
    head: string;
    change: number;
    weights?: Matrix;
  }[];
}
/**
 * What the model read, for display: an image after resizing and cropping.
 */
export interface Picture {
  width: number;
  height: number;
  /**
   * In base64.
   */
  png: string;
}
/**
 * What the model heard, and where the encoder's positions are in it. Position specials + i is at first_time + i · time_step seconds; of a grid of patches, i is its column.
 */
export interface Sound {
  /**
   * Length of the sound; positions after it are silence.
   */
  seconds: number;
  /**
   * Centre of the first position, in seconds.
   */
  first_time: number;
  /**
   * Seconds between two positions.
   */
  time_step: number;
  /**
   * Special tokens before the positions.
   */
  specials: number;
  spectrogram: Packed1;
}
/**
 * A matrix. data: base64 of its values, row by row. bits 32: little-endian f32. bits 8: a value is scale · byte / 255, with one scale for each row, or one for all.
 */
export interface Packed1 {
  rows: number;
  columns: number;
  bits: 8 | 32;
  scale?: number[];
  data: string;
}
