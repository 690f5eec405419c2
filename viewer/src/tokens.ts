// Tokens as the page shows them: spaces and incomplete characters instead of vocabulary spellings.
import type { Tokens } from "./capture.gen";

function bytesOf(hexadecimal: string): Uint8Array {
  return Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** The text of bytes, or undefined if they are not whole characters. */
export function decoded(hexadecimal: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(hexadecimal));
  } catch {
    return undefined;
  }
}

/** "▁the" → "the", "▁" → "␣"; a part of a character as its bytes: "‹E0 A4›". */
function shown(text: string, hexadecimal: string | undefined, special: boolean): string {
  if (special) return text;
  if (hexadecimal && decoded(hexadecimal) === undefined)
    return `‹${(hexadecimal.toUpperCase().match(/../g) ?? []).join(" ")}›`;
  const bare = text.replace(/^▁+(?=.)/u, "");
  return /^▁+$/u.test(bare) ? "␣" : bare;
}

const known = new WeakMap<Tokens, string[]>();

/** Each token as shown; computed once. */
export function shownTokens(tokens: Tokens | undefined): string[] {
  if (!tokens) return [];
  let all = known.get(tokens);
  if (!all)
    known.set(
      tokens,
      (all = tokens.text.map((text, i) => shown(text, tokens.bytes?.[i], tokens.special?.[i] ?? false))),
    );
  return all;
}

/** The character of which token `index` is a part: neighbours are joined until the bytes are whole. */
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
