// Types of the capture format (docs/capture-format.md) and the check of a capture that the page reads.

export type Kind = "encoder" | "decoder" | "cross";
export type Matrix = readonly (readonly number[])[];

export interface HeadCapture {
  kind: Kind;
  layer: number;
  head?: number;
  average_of_heads?: number[];
  weights: Matrix; // [queries][keys]
  entropy?: number; // mean over queries, bits
  distance?: number; // mean |query position − key position| under the weights, tokens
  pattern?: string; // name of the pattern that describes the head best
  share?: number; // weight that the pattern covers, 0 to 1
  caption?: string;
  telling?: number; // rank key: the largest is shown first
  values?: HeadValues;
}

// What the head computed its weights from. Vectors after rotary positions and head norms.
export interface HeadValues {
  query: Matrix; // [queries][head_dim]
  key: Matrix; // [keys][head_dim]
  value: Matrix; // [keys][value_dim]
  scale: number;
  causal: boolean;
}

export interface Capture {
  format?: string;
  version?: number;
  model: string;
  text: string;
  translation?: string;
  source_tokens?: string[];
  target_tokens?: string[];
  written_tokens?: string[];
  special?: { source?: boolean[]; target?: boolean[] };
  shape?: ModelShape;
  ablated: string[];
  left_out?: string;
  attention: HeadCapture[];
}

export interface ModelShape {
  kind: "encoder" | "decoder" | "encoder-decoder";
  hidden: number;
  vocabulary: number;
  parameters: number;
}

export class CaptureError extends Error {}

function requireThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new CaptureError(message);
}

/** Check a parsed capture and return it. Throws CaptureError with the reason if it cannot be shown. */
export function readCapture(json: unknown): Capture {
  requireThat(typeof json === "object" && json !== null, "expected a capture, found no object");
  const capture = json as Capture;
  requireThat(
    capture.version === undefined || capture.version === 1,
    `expected version 1, found ${capture.version}`,
  );
  requireThat(
    Array.isArray(capture.attention) && capture.attention.length > 0,
    "the capture has no attention weights",
  );
  for (const head of capture.attention) {
    const rows = rowTokens(capture, head).length;
    const columns = columnTokens(capture, head).length;
    requireThat(
      head.weights.length === rows && head.weights.every((row) => row.length === columns),
      `${headName(head)}: expected ${rows} × ${columns} weights`,
    );
  }
  return capture;
}

/** Tokens of a head's rows (queries). Rows of cross-attention are the tokens that they generated. */
export function rowTokens(capture: Capture, head: HeadCapture): string[] {
  if (head.kind === "encoder") return capture.source_tokens ?? [];
  return (head.kind === "cross" ? capture.written_tokens : capture.target_tokens) ?? [];
}

/** Tokens of a head's columns (keys). */
export function columnTokens(capture: Capture, head: HeadCapture): string[] {
  return (head.kind === "decoder" ? capture.target_tokens : capture.source_tokens) ?? [];
}

/** For each column, whether its token is special (a separator, a start or end token). */
export function specialColumns(capture: Capture, head: HeadCapture): boolean[] {
  const side = head.kind === "decoder" ? capture.special?.target : capture.special?.source;
  return columnTokens(capture, head).map((_, i) => side?.[i] ?? false);
}

export const kindTitle: Record<Kind, string> = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};

export function headName(head: HeadCapture): string {
  const index = head.head === undefined ? "average of the heads" : `head ${head.head}`;
  return `${kindTitle[head.kind]}, layer ${head.layer}, ${index}`;
}

/** Name of a head in URLs and exports: "cross.1.0", "cross.1.average". */
export function headKey(head: HeadCapture): string {
  return `${head.kind}.${head.layer}.${head.head ?? "average"}`;
}

/** The kinds of attention in the capture, in the order of a pass. */
export function kindsOf(capture: Capture): Kind[] {
  return (["encoder", "decoder", "cross"] as const).filter((kind) =>
    capture.attention.some((head) => head.kind === kind),
  );
}

/** The head to open first: the one with the largest `telling`, else the last layer's first head. */
export function firstHead(capture: Capture): HeadCapture {
  const ranked = capture.attention.filter((head) => head.telling !== undefined);
  if (ranked.length > 0) return ranked.reduce((best, head) => (head.telling! > best.telling! ? head : best));
  const kind = kindsOf(capture).at(-1)!;
  const same = capture.attention.filter((head) => head.kind === kind);
  const last = Math.max(...same.map((head) => head.layer));
  return same.find((head) => head.layer === last)!;
}
