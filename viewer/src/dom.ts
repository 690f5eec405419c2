// Create HTML and SVG elements; format numbers.

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

/** Create an HTML element. Attributes named onEVENT are listeners; an attribute with the value false is omitted. */
export function h<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(name);
  apply(node, attributes, children);
  return node;
}

function nameOf(node: HTMLElement): string {
  return node.dataset["key"] ?? node.getAttribute("aria-label") ?? node.textContent;
}

/** Replace the content of `node`. An element that has the focus passes it to the new element of the same name. */
export function redraw(node: HTMLElement, ...children: Child[]): void {
  const focused = document.activeElement;
  const inside = focused instanceof HTMLElement && focused !== node && node.contains(focused);
  const [tag, name] = inside ? [focused.tagName, nameOf(focused)] : ["", ""];
  const [left, top] = inside ? [focused.scrollLeft, focused.scrollTop] : [0, 0];
  node.replaceChildren(...children);
  if (!inside) return;
  const same = [...node.querySelectorAll<HTMLElement>(tag)].find((each) => nameOf(each) === name);
  same?.focus({ preventScroll: true });
  same?.scrollTo(left, top);
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

/** Return the value of a CSS custom property of the page. */
export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Return the colour of the n-th of several heads drawn together. */
export function overlayColour(index: number): string {
  return css(`--overlay-${index % 6}`);
}

/** Format a weight as percent: "<1" below 0.5 %, "" for 0. */
export function percent(weight: number): string {
  if (weight === 0) return "";
  const value = Math.round(weight * 100);
  return value === 0 ? "<1" : String(value);
}

/** Format a share with one decimal: "12.3 %"; "< 0.1 %" below 0.05 %, "0 %" for 0. */
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
