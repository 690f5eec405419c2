// Cosines of the words that two texts have in common, layer by layer.
import { cosine, matched } from "./math";
import type { States } from "./views/meaning";

export interface Drift {
  pair: [number, number]; // index of the token in the first and in the second text
  token: string;
  values: number[]; // cosine of the token's vectors in the two texts, for each state
}

/**
 * Return the cosines of the common words, or a sentence with the reason why the vectors cannot be compared. Words whose
 * vectors are not finite are left out.
 */
export function driftOf(a: States, b: States, special: readonly boolean[]): Drift[] | string {
  const [sizes, others] = [a, b].map(({ states }) => `${states.length} × ${states[0]![0]!.length}`);
  if (sizes !== others)
    return `The vectors of the two captures cannot be compared: states × features is ${sizes} in one and ${others} in the other.`;
  return matched(a.tokens, b.tokens)
    .filter(([i]) => !special[i] && /[\p{L}\p{N}]/u.test(a.tokens[i]!))
    .map(([i, j]) => ({
      pair: [i, j] as [number, number],
      token: a.tokens[i]!,
      values: a.states.map((state, layer) => cosine(state[i]!, b.states[layer]![j]!)),
    }))
    .filter(({ values }) => values.every(Number.isFinite));
}
