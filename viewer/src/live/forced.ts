// Passes over the tokens of a capture with something changed, for comparison with the unchanged pass.
import type { Capture } from "../capture.gen";
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
