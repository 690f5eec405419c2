// Contrast of text on coloured cells (WCAG 2.2, success criterion 1.4.3).

type Rgb = readonly [number, number, number];

/** Parse "#rgb" or "#rrggbb". */
export function rgbOf(hex: string): Rgb {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((at) => parseInt(long.slice(at, at + 2), 16)) as unknown as Rgb;
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Return the contrast ratio of two colours, 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

/** Return `front` with the opacity `alpha` over `back`. */
export function blended(front: Rgb, back: Rgb, alpha: number): Rgb {
  return front.map((value, i) => alpha * value + (1 - alpha) * back[i]!) as unknown as Rgb;
}

export interface Palette {
  ink: string;
  paper: string;
  accent: string;
  onAccent: string;
}

const enough = 4.5;
const steps = 100;
const known = new Map<string, string[]>();

/** Return the colour of a number on a cell that has the accent colour with the opacity `alpha`. */
export function textOn(alpha: number, { ink, paper, accent, onAccent }: Palette): string {
  const key = [ink, paper, accent, onAccent].join(" ");
  let table = known.get(key);
  if (!table) {
    table = Array.from({ length: steps + 1 }, (_, i) => {
      const cell = blended(rgbOf(accent), rgbOf(paper), i / steps);
      const ratio = (colour: string) => contrast(rgbOf(colour), cell);
      const good = [ink, onAccent].find((colour) => ratio(colour) >= enough);
      return good ?? (ratio("#000") > ratio("#fff") ? "#000" : "#fff");
    });
    known.set(key, table);
  }
  return table[Math.round(steps * Math.max(0, Math.min(1, alpha)))]!;
}
