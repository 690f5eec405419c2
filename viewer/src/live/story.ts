// The guided story: chapters that show the articles' sentences in the views of the page, in one order.
import type { Capture } from "../capture.gen";
import { h } from "../dom";
import { shownTokens } from "../tokens";

export interface Chapter {
  title: string;
  /** Text that explains the view. It has no numbers or translations, so that it is true for every model. */
  words: string;
  text: string;
  state: Record<string, string>; // state of the page, as parts of the URL fragment
  /** In the generation view, show the step that writes a token with this beginning. */
  step?: string;
}

const exam = "The exam was a piece of cake.";
const bank = "I keep money in the bank.";

export const chapters: readonly Chapter[] = [
  {
    title: "A phrase is not the sum of its words",
    words:
      "The demo model translates “a piece of cake” as सरल काम, “easy work”, not as केक, “cake”. The map shows the head with the clearest pattern: each row is a generated word, each column an English token.",
    text: exam,
    state: { view: "map" },
  },
  {
    title: "The word सरल is written",
    words:
      "Cross-attention connects both sentences. While this word is written, its query is compared with the key of every English token. Move the slider to see the other words.",
    text: exam,
    state: { view: "generation" },
    step: "सर",
  },
  {
    title: "From scores to weights",
    words:
      "One head with its own numbers: select a cell to see its dot product, then press Next. Switch scaling and parameters to see symmetry, diagonal and sums change.",
    text: exam,
    state: { view: "steps", step: "3", head: "encoder.0.0" },
  },
  {
    title: "Which heads carry the translation",
    words:
      "Press “Measure every head”: each head is switched off in turn, and the log-probability that the translation loses is its importance. Then switch heads off until the text changes.",
    text: exam,
    state: { view: "whatif" },
  },
  {
    title: "The same words, eaten",
    words:
      "“He ate a piece of cake.” has the same last words and another translation. Both run beside each other: point at a token to find it in the other sentence.",
    text: exam,
    state: { view: "compare", other: "He ate a piece of cake." },
  },
  {
    title: "Two banks drift apart",
    words:
      "The vector of “bank” starts alike in both sentences and ends apart, because each layer adds its context: money, or a river. The curve below the maps is its cosine, layer by layer.",
    text: bank,
    state: { view: "compare", other: "I sit on the bank of the river." },
  },
  {
    title: "The path of a word",
    words:
      "Each vector moves from its embedding through the layers. Select “bank” and “money” to see whether they end near each other.",
    text: bank,
    state: { view: "meaning" },
  },
  {
    title: "The order of the words",
    words:
      "“The man beats the boy.” and “The boy beats the man.” have the same tokens. Only positions tell the model who beats whom, and the translations differ.",
    text: "The man beats the boy.",
    state: { view: "compare", other: "The boy beats the man." },
  },
  {
    title: "Where the order comes from",
    words:
      "A vector for each position is added to the embeddings. Drag over the rows: near positions have similar vectors.",
    text: "The man beats the boy.",
    state: { view: "basics" },
  },
  {
    title: "Where explanations go wrong",
    words:
      "Common claims about attention beside the numbers of this run. Each leads to the view that shows it.",
    text: "The man beats the boy.",
    state: { view: "errors" },
  },
];

/** The address of a chapter (from 1). `capture`: the shown one, to find the step of a word; may be of another text. */
export function chapterAddress(number: number, model: string, capture: Capture | undefined): string {
  const chapter = chapters[number - 1]!;
  const parts = new URLSearchParams({
    text: chapter.text,
    ...(model ? { model } : {}),
    story: String(number),
  });
  for (const [name, value] of Object.entries(chapter.state)) parts.set(name, value);
  const written = capture?.text === chapter.text ? shownTokens(capture.tokens.written) : [];
  const step = written.findIndex((token) => chapter.step !== undefined && token.startsWith(chapter.step));
  if (step > 0) parts.set("written", String(step));
  return parts.toString();
}

/** The chapter in an address, or 0. */
export function chapterIn(fragment: string): number {
  const number = Number(new URLSearchParams(fragment.replace(/^#/, "")).get("story") ?? 0);
  return Number.isInteger(number) && number > 0 && number <= chapters.length ? number : 0;
}

/** `go(number)` shows a chapter; 0 ends the story. */
export function storyPart(go: (number: number) => void): {
  node: HTMLElement;
  draw: (number: number) => void;
} {
  const node = h("section", { class: "story", "aria-label": "Guided story" });
  const button = (label: string, to: number, primary = false) => {
    const made = h("button", { type: "button", ...(primary ? { class: "primary" } : {}) }, label);
    made.addEventListener("click", () => go(to));
    return made;
  };
  const draw = (number: number) => {
    const chapter = chapters[number - 1];
    node.classList.toggle("open", chapter !== undefined);
    if (!chapter) return node.replaceChildren(button("Guided story", 1));
    const last = number === chapters.length;
    node.replaceChildren(
      h("p", { class: "quiet" }, `Guided story, ${number} of ${chapters.length}`),
      h("h2", {}, chapter.title),
      h("p", { role: "status" }, chapter.words),
      h(
        "div",
        { class: "controls" },
        ...(number > 1 ? [button("Back", number - 1)] : []),
        ...(last ? [] : [button("Next", number + 1, true)]),
        button("End", 0),
      ),
    );
  };
  draw(0);
  return { node, draw };
}
