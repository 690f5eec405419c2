// Types of docs/capture.schema.json. Written by `npm run types`; do not edit.

export type Matrix = number[][] | Packed;

/**
 * What a model did with one input. docs/capture-format.md explains the format.
 */
export interface Capture {
  format: "regard-capture";
  version: 2;
  /**
   * Precision of the attention weights.
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
   * The decoder's target or continuation as text.
   */
  translation?: string;
  /**
   * For a decoder with a continuation: number of tokens in the text before it.
   */
  prompt_tokens?: number;
  /**
   * With ablated heads: the text that the model generates without ablation.
   */
  translation_without_ablation?: string;
  /**
   * With a given target and ablated heads or interventions: the text that the changed model generates.
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
   * Words of the text that occur in no training sentence. Absent if there are none, or if they are not known.
   */
  unseen_words?: string[];
  /**
   * Heads whose output was multiplied by 0, as KIND.LAYER.HEAD.
   */
  ablated: string[];
  /**
   * Other interventions in the pass, in order.
   */
  interventions: Intervention[];
  /**
   * Sentences about interventions that changed nothing, because no input has a token at their positions. Absent if there are none.
   */
  warnings?: string[];
  drawing?: Drawing;
  attention: Head[];
  /**
   * Requested values, in the order of the pass.
   */
  activations?: Activation[];
  /**
   * One for each written token.
   */
  steps?: Step[];
  beams?: Beams;
  /**
   * Results for the same input without one head, for the heads with the highest `telling`, in their order.
   */
  what_if?: WhatIf[];
  picture?: Picture;
  sound?: Sound;
  /**
   * The text under several tokenizers, that of the model first. Absent if not requested.
   */
  tokenizers?: TokenizedText[];
  compared?: Capture;
  /**
   * Sentences that say what was left out to limit the size.
   */
  left_out?: string;
}
/**
 * Tokens of one side, as arrays of equal length.
 */
export interface Tokens {
  /**
   * The tokens as displayed.
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
   * Whether the token is part of a word that occurs in no training sentence. Absent if there are none, or if they are not known.
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
   * The kind of input that the first side reads.
   */
  input: "tokens" | "pixels" | "features";
  /**
   * The sinusoids of Vaswani et al. 2017, section 3.5, are added to the embeddings. Absent for other or unknown positions.
   */
  positions?: "sinusoidal";
  /**
   * For images: special tokens, then a grid of patches, row by row.
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
     * Probe point, such as encoder.0.self.query.
     */
    name: string;
    shape: number[];
    /**
     * For a query: number of heads.
     */
    heads?: number;
  }[];
  /**
   * Weights with their names in the checkpoint.
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
   * Instead of head: the numbers of the averaged heads.
   */
  average_of_heads?: number[];
  /**
   * Entropy of a query's weights in bits, mean over the queries.
   */
  entropy: number;
  /**
   * Self-attention: mean distance between query and key in tokens, weighted by attention.
   */
  distance?: number;
  pattern:
    "previous" | "next" | "same" | "same word" | "first" | "special" | "diagonal" | "spread" | "content";
  /**
   * Weight that the pattern covers, 0 to 1.
   */
  share: number;
  /**
   * Score that selects the heads to display.
   */
  telling: number;
  /**
   * Pattern and share as a sentence.
   */
  caption: string;
  thumbnail: Packed;
  weights?: Matrix;
  /**
   * Of a sound's encoder head without weights: the mean of its weights over the queries, then the weights of each special token's query: [1 + specials, keys].
   */
  received?: number[][] | Packed;
  values?: HeadValues;
  parameters?: HeadParameters;
}
/**
 * A matrix. data: base64 of its values, row by row. bits 32: little-endian f32. bits 8: a value is scale · byte / 255, with one scale for each row, or one for all. bits 16: little-endian signed integers; a value is scale · integer / 32767, with one scale for each row.
 */
export interface Packed {
  rows: number;
  columns: number;
  bits: 8 | 16 | 32;
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
   * Factor by which query keyᵀ is multiplied.
   */
  scale: number;
  causal: boolean;
}
/**
 * The trained parameters of the head: W_Q, W_K and W_V [hidden, size], and the rows of W_O that multiply the head's output [value size, hidden], whose bias is that of the layer.
 */
export interface HeadParameters {
  query: Projection;
  key: Projection;
  value: Projection;
  output: Projection;
}
/**
 * y = x weight + bias.
 */
export interface Projection {
  /**
   * [in, out].
   */
  weight: number[][] | Packed;
  /**
   * [out]; absent if there is none.
   */
  bias?: number[];
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
   * Bytes in hexadecimal of the tokens that are not whole characters; empty for the others. Absent if all are whole.
   */
  bytes?: string[];
  /**
   * Logits of these tokens, before any filter.
   */
  logits: number[];
  /**
   * Log-sum-exp over the whole vocabulary: exp(logit − log_sum_exp) is the probability.
   */
  log_sum_exp: number;
  /**
   * Logit of the token that was written.
   */
  written_logit: number;
}
/**
 * The beam search that generated the text.
 */
export interface Beams {
  /**
   * Number of beams.
   */
  width: number;
  /**
   * score = log_probability / tokens^length_penalty.
   */
  length_penalty: number;
  /**
   * One for each generated token.
   */
  steps: {
    /**
     * Hypotheses that the search continues, best first.
     */
    kept: BeamNode[];
    /**
     * Hypotheses that end with this token, best first.
     */
    finished: BeamNode[];
  }[];
  /**
   * The results, best first: a step, and an index in its `finished`.
   */
  ranking: {
    step: number;
    finished: number;
  }[];
}
/**
 * A hypothesis of the step before, followed by one token.
 */
export interface BeamNode {
  /**
   * Index in `kept` of the step before; 0 in the first step.
   */
  parent: number;
  id: number;
  /**
   * The token as displayed.
   */
  text: string;
  /**
   * Bytes in hexadecimal of a token that is not whole characters. Absent for the others.
   */
  bytes?: string;
  /**
   * Sum over the tokens of the hypothesis.
   */
  log_probability: number;
  /**
   * log_probability / tokens^length_penalty.
   */
  score: number;
  /**
   * Of a finished hypothesis: true if an end token or a stop string ended it, false if it reached the maximum length.
   */
  ended?: boolean;
}
/**
 * The changes without one head.
 */
export interface WhatIf {
  /**
   * The head, as KIND.LAYER.HEAD.
   */
  off: string;
  /**
   * The text that the model generates without the head.
   */
  translation?: string;
  /**
   * Mean log-probability (nats) that the written tokens lose without the head.
   */
  lost?: number;
  /**
   * Logits without the head, for the tokens that the unchanged model wrote.
   */
  steps?: Step[];
  /**
   * Other heads by how much their weights change: mean over the queries of half the sum of absolute differences, largest first.
   */
  changes: {
    /**
     * The other head, as KIND.LAYER.HEAD.
     */
    head: string;
    change: number;
    weights?: Matrix;
  }[];
}
/**
 * The image that the model read, after resizing and cropping.
 */
export interface Picture {
  width: number;
  height: number;
  /**
   * PNG file in base64.
   */
  png: string;
}
/**
 * The sound that the model read, and the times of the encoder's positions. Position specials + i is at first_time + i · time_step seconds; in a grid of patches, i is the column.
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
   * Number of special tokens before the positions.
   */
  specials: number;
  spectrogram: Packed1;
}
/**
 * A matrix. data: base64 of its values, row by row. bits 32: little-endian f32. bits 8: a value is scale · byte / 255, with one scale for each row, or one for all. bits 16: little-endian signed integers; a value is scale · integer / 32767, with one scale for each row.
 */
export interface Packed1 {
  rows: number;
  columns: number;
  bits: 8 | 16 | 32;
  scale?: number[];
  data: string;
}
/**
 * The text as one tokenizer divides it, with the special tokens that the tokenizer adds.
 */
export interface TokenizedText {
  /**
   * Name of the model, or the tokenizer file as given.
   */
  name: string;
  /**
   * Type of the tokenizer's model, such as BPE, WordPiece or Unigram.
   */
  type: string;
  /**
   * The largest token id plus 1.
   */
  vocabulary: number;
  tokens: Tokens;
  /**
   * For each token: first code point of the text that it covers. 0 for an added special token.
   */
  begin: number[];
  /**
   * For each token: end of the code points that it covers. 0 for an added special token.
   */
  end: number[];
}
