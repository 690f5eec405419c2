// Convert tokens for display: "▁" becomes a space; incomplete and control characters are shown as bytes.
import type { Tokens } from "./capture.gen";

function bytesOf(hexadecimal: string): Uint8Array {
  return Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** Decode bytes as UTF-8. Returns undefined if they are not whole characters. */
export function decoded(hexadecimal: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(hexadecimal));
  } catch {
    return undefined;
  }
}

function shownBytes(bytes: Uint8Array): string {
  return `‹${Array.from(bytes, (byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ")}›`;
}

/** Show control characters, and code points that XML does not allow, as the bytes of their UTF-8: "‹1B›". */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, (each) => shownBytes(new TextEncoder().encode(each)));
}

/** Convert a token for display: "▁the" → "the", "▁" and " " → "␣"; a part of a character as bytes: "‹E0 A4›". */
function shown(text: string, hexadecimal: string | undefined, special: boolean): string {
  if (special) return visible(text);
  if (hexadecimal && decoded(hexadecimal) === undefined) return shownBytes(bytesOf(hexadecimal));
  const bare = text.replace(/^▁+(?=.)/u, "");
  return /^[▁ ]+$/u.test(bare) ? "␣" : visible(bare);
}

/** Tokens as a capture has them: a side, or the candidates of a step. */
type Shown = Pick<Tokens, "text" | "bytes" | "special">;

const known = new WeakMap<Shown, string[]>();

/** Return the displayed tokens. Results are cached. */
export function shownTokens(tokens: Shown | undefined): string[] {
  if (!tokens) return [];
  let all = known.get(tokens);
  if (!all)
    known.set(
      tokens,
      (all = tokens.text.map((text, i) => shown(text, tokens.bytes?.[i], tokens.special?.[i] ?? false))),
    );
  return all;
}

/** Return the writing direction of the first letter. (`dir=auto` ignores text in `bdi`.) */
export function directionOf(texts: readonly string[]): "rtl" | "ltr" {
  const first = /\p{L}/u.exec(texts.join(" "))?.[0] ?? "";
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first)
    ? "rtl"
    : "ltr";
}

/** Join the bytes of neighbours to the character that contains token `index`; undefined if the token is whole. */
export function wholeCharacter(tokens: Tokens, index: number): string | undefined {
  const bytes = tokens.bytes;
  if (!bytes || decoded(bytes[index]!) !== undefined) return undefined;
  for (let before = 0; before < 4; ++before)
    for (let after = 0; after < 4; ++after) {
      const joined = bytes.slice(Math.max(0, index - before), index + after + 1).join("");
      const text = decoded(joined);
      if (text !== undefined) return text;
    }
  return undefined;
}
