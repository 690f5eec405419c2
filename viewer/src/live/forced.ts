// Passes over the tokens of a capture with something changed, for comparison with the unchanged pass.
import type { Capture } from "../capture.gen";
import type { Live } from "./live";
import type { Question } from "./protocol";

/** The question whose pass reads the same tokens as `capture`: what was generated is given. */
export function forcedQuestion(capture: Capture): Partial<Question> {
  const ids = capture.tokens.written?.ids;
  if (capture.tokens.source) return ids ? { written: ids, generate: 0 } : { generate: 0 };
  return { text: capture.text + (capture.translation ?? ""), generate: 0 };
}

/** Whether the model writes by itself, so that a free pass may write something else. */
export function generates(capture: Capture): boolean {
  return capture.translation !== undefined && capture.translation !== "";
}

/**
 * The passes with `change`: over the same tokens, and what the model then writes by itself. An encoder–decoder makes
 * both in one request.
 */
export async function changedPasses(
  live: Live,
  capture: Capture,
  change: Partial<Question>,
  signal: AbortSignal,
): Promise<{ forced: Capture; free: string | undefined }> {
  const small = { ...change, page: false };
  const written = capture.tokens.source && capture.tokens.written?.ids;
  if (written && generates(capture)) {
    const forced = await live.ask({ ...small, written, free: true }, signal);
    return { forced, free: forced.translation_generated };
  }
  const [forced, free] = await Promise.all([
    live.ask({ ...small, ...forcedQuestion(capture) }, signal),
    generates(capture) ? live.ask(small, signal) : undefined,
  ]);
  return { forced, free: free?.translation };
}
