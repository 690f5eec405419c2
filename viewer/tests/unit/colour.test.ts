import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { blended, contrast, rgbOf, textOn } from "../../src/colour";

/** The palettes of style.css: light, then dark. */
function palettes() {
  const css = readFileSync("src/style.css", "utf8");
  return [css.slice(0, css.indexOf("@media")), css.slice(css.indexOf("@media"))].map((part) => {
    const of = (name: string) => new RegExp(`--${name}: (#[0-9a-f]+)`).exec(part)![1]!;
    return { ink: of("ink"), paper: of("paper"), accent: of("accent"), onAccent: of("on-accent") };
  });
}

describe("colour", () => {
  it("computes the contrast of WCAG", () => {
    expect(contrast(rgbOf("#000"), rgbOf("#fff"))).toBeCloseTo(21, 6);
    expect(contrast(rgbOf("#767676"), rgbOf("#ffffff"))).toBeCloseTo(4.54, 2);
  });

  it("numbers on cells have the contrast of WCAG AA at every weight, light and dark", () => {
    for (const palette of palettes())
      for (let i = 0; i <= 100; ++i) {
        const cell = blended(rgbOf(palette.accent), rgbOf(palette.paper), i / 100);
        const ratio = contrast(rgbOf(textOn(i / 100, palette)), cell);
        expect(ratio, `${palette.paper}, opacity ${i} %`).toBeGreaterThanOrEqual(4.5);
      }
  });

  it("keeps the colour of the palette from a contrast of 4.5 on, and takes black or white below it", () => {
    const on = (ink: string) => textOn(0, { ink, paper: "#fff", accent: "#1f5fbf", onAccent: "#fff" });
    expect(contrast(rgbOf("#767676"), rgbOf("#fff"))).toBeGreaterThan(4.5);
    expect(on("#767676")).toBe("#767676");
    expect(contrast(rgbOf("#777"), rgbOf("#fff"))).toBeLessThan(4.5);
    expect(on("#777")).toBe("#000");
  });
});
