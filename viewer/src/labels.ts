// Shorten labels to a width in pixels, between whole characters.

export const labelFont =
  'system-ui, "Noto Sans", "Noto Sans Devanagari", "Noto Sans Arabic", "Noto Color Emoji", sans-serif';

const widths = new Map<string, string>();

/** Shorten `text` to `width` pixels with an ellipsis. Results are cached, because measuring text is slow. */
export function shortened(context: CanvasRenderingContext2D, text: string, width: number): string {
  const key = `${context.font}|${Math.round(width)}|${text}`;
  let found = widths.get(key);
  if (found === undefined) {
    found = text;
    if (context.measureText(text).width > width) {
      const letters = [...new Intl.Segmenter().segment(text)].map((each) => each.segment);
      while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
      found = `${letters.join("")}…`;
    }
    if (widths.size > 20000) widths.clear();
    widths.set(key, found);
  }
  return found;
}

let measuring: CanvasRenderingContext2D | undefined;

/** Shorten a label of an SVG text with this font size. */
export function shortenedLabel(text: string, size: number, width: number): string {
  measuring ??= document.createElement("canvas").getContext("2d")!;
  measuring.font = `${size}px ${labelFont}`;
  return shortened(measuring, text, width);
}
