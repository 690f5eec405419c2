// The connection of a page to its server: the question that is shown, further questions about it, one at a time.
import type { Capture } from "../capture";
import { attend, type Question } from "./protocol";

export class Live {
  key = ""; // API key; kept in memory only

  constructor(readonly question: Question) {}

  /** The same model with another question. */
  ask(change: Partial<Question>, signal: AbortSignal): Promise<Capture> {
    return attend({ ...this.question, ...change }, this.key, signal);
  }

  /** The question's part of the address. */
  address(): [string, string][] {
    const { model, text, sound, generate } = this.question;
    return [
      [sound ? "file" : "text", text], // a file cannot be asked for again: its name only
      ...(model ? ([["model", model]] as [string, string][]) : []),
      ...(generate ? ([["generate", String(generate)]] as [string, string][]) : []),
    ];
  }
}

/** The question in an address, or undefined. */
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
