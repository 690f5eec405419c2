// A capture (docs/capture-format.md) as the page reads it: check, tokens of a head, names, order.
import type { Capture, Head, Tokens } from "./capture.gen";
import { isComplete, type Matrix, rowsOf, shapeOf } from "./packed";
import { shownTokens } from "./tokens";

export type { Capture, Head, Tokens } from "./capture.gen";
export type { Matrix } from "./packed";
export type Kind = Head["kind"];

export class CaptureError extends Error {}

function requireThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new CaptureError(message);
}

/** Check a parsed capture and return it. Throws CaptureError with the reason if it cannot be shown. */
export function readCapture(json: unknown): Capture {
  requireThat(typeof json === "object" && json !== null, "expected a capture, found no object");
  const capture = json as Capture;
  requireThat(capture.version === 2, `expected version 2, found ${String(capture.version)}`);
  requireThat(
    Array.isArray(capture.attention) && capture.attention.length > 0,
    "the capture has no attention weights",
  );
  for (const head of capture.attention) {
    if (!head.weights) continue;
    const [rows, columns] = [rowTokens(capture, head).length, columnTokens(capture, head).length];
    const [down, across] = shapeOf(head.weights);
    requireThat(
      down === rows && across === columns && isComplete(head.weights),
      `${headName(head)}: expected ${rows} × ${columns} weights`,
    );
  }
  return capture;
}

/** The side of a head's queries. Rows of cross-attention are the tokens that they generated. */
export function rowSide(capture: Capture, head: Head): Tokens | undefined {
  if (head.kind === "encoder") return capture.tokens.source;
  return head.kind === "cross" ? capture.tokens.written : capture.tokens.target;
}

export function columnSide(capture: Capture, head: Head): Tokens | undefined {
  return head.kind === "decoder" ? capture.tokens.target : capture.tokens.source;
}

/** Tokens of a head's rows (queries), as shown. */
export function rowTokens(capture: Capture, head: Head): string[] {
  return shownTokens(rowSide(capture, head));
}

/** Tokens of a head's columns (keys), as shown. */
export function columnTokens(capture: Capture, head: Head): string[] {
  return shownTokens(columnSide(capture, head));
}

/** For each column, whether its token is special (a separator, a start or end token). */
export function specialColumns(capture: Capture, head: Head): boolean[] {
  const side = columnSide(capture, head);
  return columnTokens(capture, head).map((_, i) => side?.special?.[i] ?? false);
}

/** The weights [queries][keys], or undefined if the capture has a thumbnail of the head only. */
export function weightsOf(head: Head): Matrix | undefined {
  return head.weights && rowsOf(head.weights);
}

export const kindTitle: Record<Kind, string> = {
  encoder: "Encoder self-attention",
  decoder: "Decoder self-attention",
  cross: "Cross-attention",
};

export function headName(head: Head): string {
  const index = head.head === undefined ? "average of the heads" : `head ${head.head}`;
  return `${kindTitle[head.kind]}, layer ${head.layer}, ${index}`;
}

/** Name of a head in URLs and exports: "cross.1.0", "cross.1.average". */
export function headKey(head: Head): string {
  return `${head.kind}.${head.layer}.${head.head ?? "average"}`;
}

/** The kinds of attention in the capture, in the order of a pass. */
export function kindsOf(capture: Capture): Kind[] {
  return (["encoder", "decoder", "cross"] as const).filter((kind) =>
    capture.attention.some((head) => head.kind === kind),
  );
}

/** The most telling head of those given; heads with weights first. */
export function mostTelling(heads: readonly Head[]): Head | undefined {
  const rank = (head: Head) => head.telling + (head.weights ? 1000 : 0);
  return heads.reduce<Head | undefined>(
    (best, head) => (best && rank(best) >= rank(head) ? best : head),
    undefined,
  );
}

/** The head to open first: the one with the largest `telling`. */
export function firstHead(capture: Capture): Head {
  return mostTelling(capture.attention)!;
}

/** An activation by the name of its probe point. */
export function activation(capture: Capture, name: string): Matrix | undefined {
  const found = capture.activations?.find((each) => each.name === name);
  return found && rowsOf(found.values);
}
