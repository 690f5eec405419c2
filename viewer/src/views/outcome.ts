// Show an outcome: generated text, next-token probabilities and attention of other heads, before and after.
import { headName, weightsOf } from "../capture";
import type { Step } from "../capture.gen";
import { fixed, h, share } from "../dom";
import { aligned, largestOf } from "../math";
import type { Change, Outcome } from "../outcome";
import type { Store } from "../store";
import { headKey } from "../capture";
import { directionOf, shownTokens } from "../tokens";
import { smallMap } from "./small_map";

const mostBars = 8;
const mostChanges = 8;

/** Mark the words of `text` that `other` lacks. */
export function markedWords(text: string, other: string): (HTMLElement | string)[] {
  const [words, others] = [text.split(/\s+/), other.split(/\s+/)];
  const kept = new Set(aligned(words, others).map(([i]) => i));
  if (kept.size === 0) return [text]; // the texts share no word; marks on every word would say nothing
  return words.flatMap((word, i) => [i > 0 ? " " : "", kept.has(i) ? word : h("mark", {}, word)]);
}

function texts(store: Store, outcome: Outcome): HTMLElement[] {
  const { translation } = store.capture;
  if (translation === undefined) return [];
  const column = (title: string, words: (HTMLElement | string)[]) =>
    h("div", {}, h("h3", {}, title), h("p", { class: "written", dir: "auto" }, ...words));
  const after = outcome.translation;
  return [
    h(
      "div",
      { class: "two" },
      column("Before", after === undefined ? [translation] : markedWords(translation, after)),
      column(
        "After",
        after === undefined
          ? ["not generated"]
          : after === ""
            ? ["(nothing)"]
            : markedWords(after, translation),
      ),
    ),
    ...(after === translation ? [h("p", { class: "quiet" }, "The same text.")] : []),
  ];
}

/** Return the probability of a token at a step, or undefined if the step does not list it. */
function probability(step: Step, id: number): number | undefined {
  const at = step.ids.indexOf(id);
  return at < 0 ? undefined : Math.exp(step.logits[at]! - step.log_sum_exp);
}

function bars(store: Store, steps: readonly Step[]): HTMLElement[] {
  const before = store.capture.steps;
  if (!before) return [];
  const names = shownTokens(store.capture.tokens.written);
  const at = Math.max(0, Math.min(store.state.written, Math.min(before.length, steps.length) - 1));
  const [one, two] = [before[at]!, steps[at]!];
  const text = new Map<number, string>();
  for (const step of [one, two]) {
    const candidates = shownTokens(step);
    step.ids.slice(0, mostBars).forEach((id, i) => text.set(id, candidates[i]!));
  }
  const most = (id: number) => Math.max(probability(one, id) ?? 0, probability(two, id) ?? 0);
  const order = [...text.keys()].sort((a, b) => most(b) - most(a)).slice(0, mostBars);
  const written = store.capture.tokens.written?.ids?.[at];
  const cell = (step: Step, id: number) => {
    const p = probability(step, id);
    return [
      h("span", { class: "bar" }, h("i", { style: `width: ${(100 * (p ?? 0)).toFixed(2)}%` })),
      h("span", { class: "number" }, p === undefined ? "not listed" : share(p)),
    ];
  };
  const chooser = names.slice(0, steps.length).map((name, i) => {
    const token = h(
      "button",
      {
        type: "button",
        class: `token${i === at ? " now" : ""}`,
        "data-key": `step ${i}`,
        "aria-pressed": String(i === at),
      },
      h("bdi", {}, name),
    );
    token.addEventListener("click", () => store.update({ written: i }));
    return token;
  });
  return [
    h("h3", {}, "Next token, after the same tokens as before"),
    h("p", { class: "tokens", dir: directionOf(names) }, ...chooser),
    h(
      "ol",
      { class: "bars paired" },
      h(
        "li",
        { class: "heads" },
        h("span"),
        h("span", {}, "before"),
        h("span"),
        h("span", {}, "after"),
        h("span"),
      ),
      ...order.map((id) =>
        h(
          "li",
          id === written ? { class: "picked" } : {},
          h("bdi", {}, text.get(id)!),
          ...cell(one, id),
          ...cell(two, id),
        ),
      ),
    ),
  ];
}

function maps(store: Store, change: Change): HTMLElement[] {
  const head = store.capture.attention.find((each) => headKey(each) === change.head);
  const before = head && weightsOf(head);
  if (!head || !before) return [];
  if (!change.after)
    return [h("p", { class: "quiet" }, "This file has only the size of this head's change.")];
  const after = change.after;
  const difference = after.map((row, r) => row.map((weight, c) => weight - before[r]![c]!));
  const largest = Math.max(1e-6, largestOf(before, after));
  const most = Math.max(1e-6, largestOf(difference));
  return [
    h(
      "div",
      { class: "small-maps" },
      smallMap({ title: "before", matrix: before, maximum: largest }),
      smallMap({ title: "after", matrix: after, maximum: largest }),
      smallMap({ title: `after − before, up to ${share(most)}`, matrix: difference, maximum: most }),
    ),
  ];
}

function attention(store: Store, changes: readonly Change[]): HTMLElement[] {
  const shown = changes.filter(({ change }) => change > 1e-6).slice(0, mostChanges);
  if (shown.length === 0) return [h("p", { class: "quiet" }, "No other head's weights change.")];
  const picked = shown.find(({ head }) => head === store.state.changed) ?? shown[0]!;
  const most = shown[0]!.change;
  const rows = shown.map((each) => {
    const head = store.capture.attention.find((other) => headKey(other) === each.head);
    const name = h(
      "button",
      { type: "button", class: "plain", "aria-pressed": String(each === picked) },
      head ? headName(head) : each.head,
    );
    name.addEventListener("click", () => store.update({ changed: each.head }));
    return h(
      "li",
      each === picked ? { class: "picked" } : {},
      name,
      h("span", { class: "bar" }, h("i", { style: `width: ${((100 * each.change) / most).toFixed(1)}%` })),
      h("span", { class: "number" }, share(each.change)),
    );
  });
  return [
    h("h3", {}, "Attention that changes"),
    h(
      "p",
      { class: "quiet" },
      "The part of each head's weights that moves to other tokens, mean over its rows.",
    ),
    h("ol", { class: "bars changes" }, ...rows),
    ...maps(store, picked),
  ];
}

/** Describe how much less probable the generated tokens are. */
export function lostSentence(lost: number): string {
  const factor = Math.exp(-lost);
  return `The tokens that the whole model wrote lose ${fixed(lost, 3)} nats each on average: their probability is multiplied by ${fixed(factor, factor < 0.01 ? 4 : 2)}.`;
}

export function outcomeParts(store: Store, outcome: Outcome): HTMLElement[] {
  return [
    ...texts(store, outcome),
    ...(outcome.lost === undefined ? [] : [h("p", { class: "quiet" }, lostSentence(outcome.lost))]),
    ...(outcome.steps ? bars(store, outcome.steps) : []),
    ...attention(store, outcome.changes),
  ];
}
