// Creation of HTML and SVG elements.

type Child = Node | string;
type Attributes = Record<string, string | number | boolean | ((event: never) => void)>;

function apply(node: Element, attributes: Attributes, children: Child[]): void {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key.slice(2), value as EventListener);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false) node.setAttribute(key, String(value));
  }
  node.append(...children);
}

/** An HTML element. Attributes named onEVENT are listeners; false leaves an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  apply(node, attributes, children);
  return node;
}

export function s<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  apply(node, attributes, children);
  return node;
}

/** The value of a CSS custom property of the page. */
export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Colour of the n-th of several heads drawn together. */
export function overlayColour(index: number): string {
  return css(`--overlay-${index % 6}`);
}

/** A weight as percent: "<1" for small ones, "" for none. */
export function percent(weight: number): string {
  if (weight === 0) return "";
  const value = Math.round(weight * 100);
  return value === 0 ? "<1" : String(value);
}

/** A share as text with one decimal: "12.3 %"; "< 0.1 %" for small ones, "0 %" for none. */
export function share(weight: number): string {
  if (weight <= 0) return "0 %";
  return weight < 0.0005 ? "< 0.1 %" : `${(100 * weight).toFixed(1)} %`;
}

export function fixed(value: number, digits = 3): string {
  if (value === -Infinity) return "−∞";
  return value
    .toFixed(digits)
    .replace(/^-(?=0\.?0*$)/, "")
    .replace("-", "−");
}
