// Tokens of the input text below the title, with unknown tokens and unseen words marked.
import type { Capture, Tokens } from "../capture.gen";
import { h } from "../dom";
import { directionOf, shownTokens } from "../tokens";

const most = 80;
const mostNamed = 20;

/** Return for each token whether it is the token for unknown words. */
export function unknownTokens(tokens: Tokens): boolean[] {
  return tokens.text.map(
    (text, i) => (tokens.special?.[i] ?? true) && /^(?:<unk>|\[UNK\]|<\|unk\|>)$/i.test(text),
  );
}

/** Show the tokens of the input. Returns [] for a written page without unknown tokens. */
export function readingView(capture: Capture, live: boolean): HTMLElement[] {
  const side = capture.tokens.source ?? capture.tokens.target;
  if (!side || capture.drawing?.input === "pixels" || capture.drawing?.input === "features") return [];
  const unknown = unknownTokens(side);
  const count = unknown.filter(Boolean).length;
  const unseen = capture.unseen_words ?? [];
  if (!live && count === 0 && unseen.length === 0) return [];
  const chip = (text: string, i: number) =>
    h(
      "span",
      {
        class: `piece${unknown[i] || side.unseen?.[i] ? " unknown" : ""}${side.special?.[i] && !unknown[i] ? " special" : ""}`,
        ...(unknown[i]
          ? { title: "Not in the model's vocabulary" }
          : side.unseen?.[i]
            ? { title: "Part of a word that the model never saw in training" }
            : {}),
      },
      h("bdi", {}, text),
    );
  const names = shownTokens(side);
  return [
    h(
      "p",
      { class: "reading", dir: directionOf(names) },
      h("span", { class: "quiet" }, `${names.length} ${names.length === 1 ? "token" : "tokens"} `),
      ...names.slice(0, most).map(chip),
      ...(names.length > most ? [" …"] : []),
    ),
    ...(unseen.length > 0
      ? [
          h(
            "p",
            { class: "note" },
            `${unseen.length === 1 ? "A word that occurs" : "Words that occur"} in no training sentence (underlined): `,
            ...unseen
              .slice(0, mostNamed)
              .flatMap((word, i) => [i > 0 ? ", " : "", h("bdi", { class: "unknown" }, word)]),
            unseen.length > mostNamed ? " …" : "",
            `. The model has learned nothing about ${unseen.length === 1 ? "it" : "them"}.`,
          ),
        ]
      : []),
    ...(count > 0
      ? [
          h(
            "p",
            { class: "note" },
            `${count === 1 ? "One token is" : `${count} tokens are`} not in the model's vocabulary (underlined): every unknown word is read as the same token.`,
          ),
        ]
      : []),
  ];
}
