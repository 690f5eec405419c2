// The articles' sentences. Most are pairs: the same words in another meaning or order.
const pairs = [
  ["The exam was a piece of cake.", "He ate a piece of cake."],
  ["I keep money in the bank.", "I sit on the bank of the river."],
  ["The man beats the boy.", "The boy beats the man."],
] as const;

export const examples: readonly string[] = [...pairs.flat(), "What is the capital of France?"];

/** Return the other sentence of the pair that contains the text, or undefined. */
export function partnerOf(text: string): string | undefined {
  const pair = pairs.find((each) => each.some((sentence) => sentence === text.trim()));
  return pair?.find((sentence) => sentence !== text.trim());
}
