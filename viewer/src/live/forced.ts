// Forward passes over the tokens of a capture with a change to the model, for comparison with the capture.
import type { Capture } from "../capture.gen";
import type { Live } from "./live";
import type { Question } from "./protocol";

/** Return the ids that the model wrote: a translation, or a decoder's continuation. Undefined if it wrote none. */
export function writtenIds(capture: Capture): readonly number[] | undefined {
  const { source, target, written } = capture.tokens;
  if (source) return written?.ids;
  return capture.prompt_tokens ? target?.ids?.slice(capture.prompt_tokens) : undefined;
}

/** Return the members of a question that make the pass read the same tokens as `capture`. */
export function forcedQuestion(capture: Capture): Partial<Question> {
  const written = writtenIds(capture);
  return written ? { written, generate: 0 } : { generate: 0 };
}

/** Whether the model generates text, so that a pass without given ids may give another text. */
export function generates(capture: Capture): boolean {
  return capture.translation !== undefined && capture.translation !== "";
}

/** Get with one request the pass with `change` over the same tokens, and the text that the changed model generates. */
export async function changedPasses(
  live: Live,
  capture: Capture,
  change: Partial<Question>,
  signal: AbortSignal,
): Promise<{ forced: Capture; free: string | undefined }> {
  const small = { ...change, page: false };
  const written = writtenIds(capture);
  if (!written || !generates(capture))
    return { forced: await live.ask({ ...small, ...forcedQuestion(capture) }, signal), free: undefined };
  const forced = await live.ask({ ...small, written, free: true }, signal);
  return { forced, free: forced.translation_generated };
}
