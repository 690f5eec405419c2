// Outcome of switching heads off or patching values: computed from two captures, or read from one.
import type { Capture, Step } from "./capture.gen";
import { headKey, type Matrix, weightsOf } from "./capture";
import { meanTotalVariation } from "./math";
import { rowsOf } from "./packed";

export interface Change {
  head: string; // as returned by headKey()
  change: number; // mean over the queries of half the sum of absolute differences of weights
  after: Matrix | undefined;
}

export interface Outcome {
  translation: string | undefined;
  lost: number | undefined; // mean decrease of the log-probability (nats) of the generated tokens
  steps: readonly Step[] | undefined; // steps for the tokens that the unchanged model generated
  changes: readonly Change[]; // sorted, the largest first
}

/**
 * How much log-probability the tokens written in `before` lose in `after`, mean over the steps; undefined if the
 * passes read other tokens. A decoder's last step, whose token is each pass's own, counts only if both choose the
 * same one.
 */
export function lostBetween(before: Capture, after: Capture): number | undefined {
  const [a, b] = [before.steps, after.steps];
  if (!a || !b || a.length !== b.length || !sameTokens(before, after)) return undefined;
  const [written, now] = [before.tokens.written?.text, after.tokens.written?.text];
  const same = a.map((_, i) => i).filter((i) => written?.[i] === now?.[i]);
  if (same.length === 0) return undefined;
  const loss = (step: Step) => step.log_sum_exp - step.written_logit;
  return same.reduce((sum, i) => sum + loss(b[i]!) - loss(a[i]!), 0) / same.length;
}

function sameTokens(before: Capture, after: Capture): boolean {
  const sides = ["source", "target"] as const;
  return sides.every((side) => before.tokens[side]?.text.join("\n") === after.tokens[side]?.text.join("\n"));
}

/** Compare passes. `forced`: over the same tokens; `free`: the text that the changed model generates. */
export function outcomeOf(before: Capture, forced: Capture, free: string | undefined): Outcome {
  const same = sameTokens(before, forced);
  const changes: Change[] = [];
  for (const head of same ? before.attention : []) {
    const other = forced.attention.find((each) => headKey(each) === headKey(head));
    const [a, b] = [weightsOf(head), other && weightsOf(other)];
    if (a && b) changes.push({ head: headKey(head), change: meanTotalVariation(a, b), after: b });
  }
  changes.sort((a, b) => b.change - a.change);
  return {
    translation: free,
    lost: lostBetween(before, forced),
    steps: same ? forced.steps : undefined,
    changes,
  };
}

/** Read the outcome of one switched-off head from the capture. */
export function writtenOutcome(capture: Capture, off: string): Outcome | undefined {
  const found = capture.what_if?.find((each) => each.off === off);
  return (
    found && {
      translation: found.translation,
      lost: found.lost,
      steps: found.steps,
      changes: found.changes.map(({ head, change, weights }) => ({
        head,
        change,
        after: weights && rowsOf(weights),
      })),
    }
  );
}
