// Connection of a page to its server: holds the shown question and sends further questions about it.
import type { Capture } from "../capture";
import { attend, type Question } from "./protocol";

export class Live {
  key = ""; // API key; kept in memory only

  story = 0; // shown chapter of the guided story, from 1; 0: none

  constructor(readonly question: Question) {}

  /** Send the shown question with the changes. */
  ask(change: Partial<Question>, signal: AbortSignal): Promise<Capture> {
    return attend({ ...this.question, ...change }, this.key, signal);
  }

  /** Whether an address contains the question that this page shows. */
  shows(fragment: string): boolean {
    const asked = questionIn(fragment);
    const { text, model, generate } = this.question;
    return (
      asked === undefined || (asked.text === text && asked.model === model && asked.generate === generate)
    );
  }

  /** Return the question as parts of the URL fragment. */
  address(): [string, string][] {
    const { model, text, file, generate } = this.question;
    return [
      [file ? "file" : "text", text], // the URL contains the name of the file, but not its content
      ...(model ? ([["model", model]] as [string, string][]) : []),
      ...(generate ? ([["generate", String(generate)]] as [string, string][]) : []),
      ...(this.story ? ([["story", String(this.story)]] as [string, string][]) : []),
    ];
  }
}

/** Return the question in a URL fragment, or undefined. */
export function questionIn(fragment: string): Question | undefined {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = parts.get("text");
  if (!text) return undefined;
  const generate = Number(parts.get("generate") ?? 0);
  return {
    text,
    model: parts.get("model") ?? "",
    page: true,
    ...(Number.isInteger(generate) && generate > 0 ? { generate } : {}),
  };
}
