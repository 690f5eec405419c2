// Read a capture (docs/capture-format.md): check it; tokens, names and order of its heads.
import type { Capture, Head, Packed, Tokens } from "./capture.gen";
import { isComplete, type Matrix, rowsOf, shapeOf } from "./packed";
import { shownTokens } from "./tokens";

export type { Capture, Head, Tokens } from "./capture.gen";
export type { Matrix } from "./packed";
export type Kind = Head["kind"];

export class CaptureError extends Error {}

function requireThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new CaptureError(message);
}

/** Check every packed matrix within the value. `place` is its name, for the error. */
function checkPacked(value: unknown, place: string): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    if (typeof value[0] !== "number") value.forEach((each, i) => checkPacked(each, `${place}[${i}]`));
    return;
  }
  if ("bits" in value) {
    const { rows, columns, bits, data } = value as Packed;
    requireThat(
      [8, 16, 32].includes(bits) && typeof data === "string" && isComplete(value as Packed),
      `${place}: expected ${rows} × ${columns} values of ${bits} bits in base64`,
    );
  }
  for (const [key, each] of Object.entries(value)) checkPacked(each, place ? `${place}.${key}` : key);
}

/** JSON has neither NaN nor infinity, so the program writes null. Replace each null within the value by NaN. */
function restoreNaN(value: unknown): void {
  if (Array.isArray(value)) {
    const list = value as unknown[];
    for (let i = 0; i < list.length; ++i)
      if (list[i] === null) list[i] = NaN;
      else restoreNaN(list[i]);
  } else if (typeof value === "object" && value !== null) {
    const members = value as Record<string, unknown>;
    for (const key of Object.keys(members))
      if (members[key] === null) members[key] = NaN;
      else restoreNaN(members[key]);
  }
}

/** A logit that is not a number, among others whose log-sum-exp is finite, is −∞: the token is excluded. */
function restoreInfinity({ steps, what_if }: Capture): void {
  for (const step of [...(steps ?? []), ...(what_if ?? []).flatMap((each) => each.steps ?? [])]) {
    if (!Number.isFinite(step.log_sum_exp)) continue;
    step.logits = step.logits.map((logit) => (Number.isNaN(logit) ? -Infinity : logit));
    if (Number.isNaN(step.written_logit)) step.written_logit = -Infinity;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Require lists of equal length; the first is a list of strings. */
function checkLists(
  value: unknown,
  place: string,
  required: readonly string[],
  optional: readonly string[],
): void {
  requireThat(isObject(value), `${place}: expected an object`);
  const lists = value as Record<string, unknown>;
  const { text } = lists;
  requireThat(
    Array.isArray(text) && text.every((each) => typeof each === "string"),
    `${place}.text: expected a list of strings`,
  );
  for (const name of [...required, ...optional.filter((each) => lists[each] !== undefined)]) {
    const list = lists[name];
    requireThat(
      Array.isArray(list) && list.length === text.length,
      `${place}.${name}: expected a list of ${text.length} elements, as many as in text`,
    );
  }
}

function checkHead(head: unknown, place: string): void {
  requireThat(isObject(head), `${place}: expected an object`);
  const { kind, layer, entropy, telling, pattern, caption, thumbnail } = head as Partial<Head>;
  requireThat(
    kind !== undefined && Object.hasOwn(kindTitle, kind),
    `${place}.kind: expected a kind of attention`,
  );
  for (const [name, value] of Object.entries({ layer, entropy, telling }))
    requireThat(typeof value === "number", `${place}.${name}: expected a number`);
  for (const [name, value] of Object.entries({ pattern, caption }))
    requireThat(typeof value === "string", `${place}.${name}: expected a string`);
  requireThat(isObject(thumbnail), `${place}.thumbnail: expected a matrix`);
}

/** Check the members of a capture that the views read without a check. */
function checkMembers(capture: Capture): void {
  const { model, text, tokens, ablated, interventions, attention, steps } = capture as Partial<Capture>;
  for (const [name, value] of Object.entries({ model, text }))
    requireThat(typeof value === "string", `${name}: expected a string`);
  for (const [name, value] of Object.entries({ ablated, interventions, steps: steps ?? [] }))
    requireThat(Array.isArray(value), `${name}: expected a list`);
  requireThat(isObject(tokens), "tokens: expected an object");
  for (const [name, side] of Object.entries(tokens))
    checkLists(side, `tokens.${name}`, [], ["ids", "bytes", "special", "unseen"]);
  attention!.forEach((head, i) => checkHead(head, `attention[${i}]`));
  steps?.forEach((step, i) => checkLists(step, `steps[${i}]`, ["ids", "logits"], ["bytes"]));
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
  restoreNaN(capture);
  checkMembers(capture);
  restoreInfinity(capture);
  for (const head of capture.attention) {
    if (!head.weights) continue;
    const [rows, columns] = [rowTokens(capture, head).length, columnTokens(capture, head).length];
    const [down, across] = shapeOf(head.weights);
    requireThat(
      down === rows && across === columns && isComplete(head.weights),
      `${headName(head)}: expected ${rows} × ${columns} weights`,
    );
  }
  checkPacked(capture, "");
  if (capture.compared) readCapture(capture.compared);
  return capture;
}

/** Return the side of a head's queries. A row of cross-attention is labelled with the token generated there. */
export function rowSide(capture: Capture, head: Head): Tokens | undefined {
  if (head.kind === "encoder") return capture.tokens.source;
  return head.kind === "cross" ? capture.tokens.written : capture.tokens.target;
}

export function columnSide(capture: Capture, head: Head): Tokens | undefined {
  return head.kind === "decoder" ? capture.tokens.target : capture.tokens.source;
}

/** Return the displayed tokens of a head's rows (queries). */
export function rowTokens(capture: Capture, head: Head): string[] {
  return shownTokens(rowSide(capture, head));
}

/** Return the displayed tokens of a head's columns (keys). */
export function columnTokens(capture: Capture, head: Head): string[] {
  return shownTokens(columnSide(capture, head));
}

/** Return for each column whether its token is special (a separator, a start or end token). */
export function specialColumns(capture: Capture, head: Head): boolean[] {
  const side = columnSide(capture, head);
  return columnTokens(capture, head).map((_, i) => side?.special?.[i] ?? false);
}

/** Return the weights [queries][keys], or undefined if the capture has only a thumbnail of the head. */
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

/** Return the unit of the mean distance of a head: what its queries and keys are. */
export function distanceUnit({ drawing }: Capture, head: Head): "tokens" | "patches" | "positions" {
  if (head.kind !== "encoder" || !drawing || drawing.input === "tokens") return "tokens";
  return drawing.patches ? "patches" : "positions";
}

/** Return the name of a head in URLs and exports: "cross.1.0", "cross.1.average". */
export function headKey(head: Head): string {
  return `${head.kind}.${head.layer}.${head.head ?? "average"}`;
}

/** Return the kinds of attention in the capture, in the order of a pass. */
export function kindsOf(capture: Capture): Kind[] {
  return (["encoder", "decoder", "cross"] as const).filter((kind) =>
    capture.attention.some((head) => head.kind === kind),
  );
}

/** Return the most telling of the heads. Heads with weights precede those without. */
export function mostTelling(heads: readonly Head[]): Head | undefined {
  const rank = (head: Head) => (Number.isNaN(head.telling) ? 0 : head.telling) + (head.weights ? 1000 : 0);
  return heads.reduce<Head | undefined>(
    (best, head) => (best && rank(best) >= rank(head) ? best : head),
    undefined,
  );
}

/** Return the head to show first: the one with the largest `telling`. */
export function firstHead(capture: Capture): Head {
  return mostTelling(capture.attention)!;
}

/** Return an activation by the name of its probe point. */
export function activation(capture: Capture, name: string): Matrix | undefined {
  const found = capture.activations?.find((each) => each.name === name);
  return found && rowsOf(found.values);
}
