// The view "Meaning": paths of token vectors through the layers in two principal components, and cosines of two tokens.
import type { Capture, Matrix } from "../capture";
import { activation } from "../capture";
import { addsPositions } from "../blocks";
import { fixed, h, overlayColour, redraw, s } from "../dom";
import { cosine, principalPlane } from "../math";
import { directionOf, shownTokens } from "../tokens";
import type { Store } from "../store";

export interface States {
  side: "encoder" | "decoder";
  tokens: string[];
  names: string[]; // "embedding", "layer 0", …
  states: Matrix[]; // [states][tokens][features]
}

export function statesOf(capture: Capture, side: "encoder" | "decoder"): States | undefined {
  const embedding = activation(capture, `${side}.embedding`);
  if (!embedding) return undefined;
  const states = [embedding];
  const names = ["embedding"];
  for (let layer = 0; ; ++layer) {
    const residual = activation(capture, `${side}.${layer}.residual`);
    if (!residual) break;
    states.push(residual);
    names.push(`layer ${layer}`);
  }
  const tokens = shownTokens(side === "encoder" ? capture.tokens.source : capture.tokens.target);
  const fits = states.every(
    (state) => state.length === tokens.length && state[0]?.length === embedding[0]?.length,
  );
  return states.length > 1 && tokens.length > 0 && fits ? { side, tokens, names, states } : undefined;
}

/**
 * Return the first tokens to show: every place of the longest repeated word, else the first eight words. Punctuation
 * is not shown at first: its vectors are far from those of words, which then lie on one spot of the map.
 */
function firstTokens(tokens: readonly string[]): number[] {
  const all = tokens.map((_, i) => i);
  const places = (token: string) => all.filter((i) => tokens[i]!.toLowerCase() === token.toLowerCase());
  const repeated = tokens.filter((token) => places(token).length > 1 && /\p{L}{2}/u.test(token));
  const word = repeated.reduce((best, token) => (token.length > best.length ? token : best), "");
  const words = all.filter((i) => /\p{L}/u.test(tokens[i]!) && !/^<.*>$|^\[.*\]$/.test(tokens[i]!));
  return word ? places(word) : (words.length > 1 ? words : all).slice(0, 8);
}

/** Move vertical positions of labels apart by at least `least`. */
function apart(places: readonly number[], least: number): number[] {
  const order = places.map((_, i) => i).sort((a, b) => places[a]! - places[b]!);
  const moved = [...places];
  for (let i = 1; i < order.length; ++i)
    moved[order[i]!] = Math.max(moved[order[i]!]!, moved[order[i - 1]!]! + least);
  return moved;
}

/** Draw the paths of the picked tokens. `labels`: their names; without it, the token and its index. */
export function pathsMap(from: States, picked: readonly number[], labels?: readonly string[]): SVGSVGElement {
  const plane = principalPlane(from.states.flatMap((state) => picked.map((token) => state[token]!)));
  const count = picked.length;
  const [xs, ys] = [plane.map(([x]) => x), plane.map(([, y]) => y)];
  const narrow = document.documentElement.clientWidth < 500;
  const [width, height, edge] = narrow ? [366, 340, 30] : [640, 420, 46];
  const range = (values: number[]) => ({
    low: Math.min(...values),
    size: Math.max(1e-9, Math.max(...values) - Math.min(...values)),
  });
  const [across, up] = [range(xs), range(ys)];
  // pixels per unit, for both axes
  const scale = Math.min((width - 3 * edge) / across.size, (height - 2 * edge) / up.size);
  const x = (value: number) => (width - edge - across.size * scale) / 2 + (value - across.low) * scale;
  const y = (value: number) => (height + up.size * scale) / 2 - (value - up.low) * scale;
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": "Paths of token vectors from the embedding through the layers, in two dimensions",
  });
  svg.append(s("rect", { class: "field", x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 6 }));
  svg.append(s("text", { class: "head", x: 10, y: 18 }, "second principal component ↑"));
  svg.append(
    s(
      "text",
      { class: "head", x: width - 10, y: height - 10, "text-anchor": "end" },
      "first principal component →",
    ),
  );
  const ends = plane.slice(-count);
  const heights = apart(
    ends.map(([, py]) => y(py)),
    17,
  );
  const texts: SVGTextElement[] = [];
  picked.forEach((token, order) => {
    const points = from.states.map((_, state) => plane[state * count + order]!);
    const colour = overlayColour(order);
    svg.append(
      s("path", {
        d: points.map(([px, py], i) => `${i ? "L" : "M"}${x(px)},${y(py)}`).join(""),
        fill: "none",
        stroke: colour,
        "stroke-width": 2,
      }),
    );
    points.forEach(([px, py], i) =>
      svg.append(
        s(
          "circle",
          { cx: x(px), cy: y(py), r: i === 0 ? 3 : 5, fill: i === 0 ? "none" : colour, stroke: colour },
          s("title", {}, `${from.tokens[token]}, ${from.names[i]}`),
        ),
      ),
    );
    const [px] = points.at(-1)!;
    // Put the label on the side of the last point that faces away from the path, if there is room.
    const leftwards = x(px) < x(points.at(-2)![0]);
    const right = x(px) > width - 110 || (leftwards && x(px) > 110);
    texts.push(
      s(
        "text",
        {
          x: x(px) + (right ? -9 : 9),
          y: heights[order]! + 5,
          "text-anchor": right ? "end" : "start",
          class: "over",
          style: `fill: ${colour}`,
        },
        labels?.[order] ?? `${from.tokens[token]} (${token})`,
      ),
    );
  });
  svg.append(...texts);
  return svg;
}

export function meaningView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "meaning" });
  const all = (["encoder", "decoder"] as const)
    .map((side) => statesOf(store.capture, side))
    .filter((each) => each !== undefined);
  const positions = addsPositions(store.capture);
  let built = "";
  const draw = () => {
    if (store.state.view !== "meaning") return;
    const from = all.find(({ side }) => side === store.state.side) ?? all[0];
    if (!from)
      return node.replaceChildren(
        h(
          "p",
          { class: "note" },
          "This capture has no hidden states. Short texts have them with `attend --html`.",
        ),
      );
    const known = store.state.path.filter((token) => token < from.tokens.length);
    const picked = known.length > 0 ? known : firstTokens(from.tokens);
    const now = `${from.side} ${picked.join(",")} ${document.documentElement.clientWidth} ${overlayColour(0)}`;
    if (now === built) return;
    built = now;
    const states = from;
    const sides = all.map((each) => {
      const button = h("button", { type: "button", "aria-pressed": String(each === states) }, each.side);
      button.addEventListener("click", () => store.update({ side: each.side, path: [] }));
      return button;
    });
    const chips = states.tokens.map((token, i) => {
      const chip = h(
        "button",
        {
          type: "button",
          class: "chip",
          "data-key": `token ${i}`,
          "aria-pressed": String(picked.includes(i)),
        },
        h("bdi", {}, token),
      );
      chip.addEventListener("click", () =>
        store.update({ path: picked.includes(i) ? picked.filter((other) => other !== i) : [...picked, i] }),
      );
      return chip;
    });
    const [a, b] = picked;
    const pair =
      a !== undefined && b !== undefined
        ? [
            h(
              "h3",
              {},
              "Cosine of ",
              h("bdi", {}, states.tokens[a]!),
              ` (${a}) and `,
              h("bdi", {}, states.tokens[b]!),
              ` (${b})`,
            ),
            h(
              "div",
              { class: "scroll", tabindex: 0 },
              h(
                "table",
                {},
                h("thead", {}, h("tr", {}, ...states.names.map((name) => h("th", { scope: "col" }, name)))),
                h(
                  "tbody",
                  {},
                  h(
                    "tr",
                    {},
                    ...states.states.map((state) => h("td", {}, fixed(cosine(state[a]!, state[b]!), 3))),
                  ),
                ),
              ),
            ),
          ]
        : [];
    redraw(
      node,
      h(
        "p",
        {},
        `Each path is one token: from its embedding (open circle${positions ? ", positions included" : ""}) through the layers. The same word ` +
          `starts at ${positions === false ? "the same place" : "nearly the same place"} and moves as its context is added.`,
      ),
      ...(all.length > 1 ? [h("p", { class: "controls" }, ...sides)] : []),
      h(
        "div",
        { class: "chips", role: "group", "aria-label": "Tokens", dir: directionOf(states.tokens) },
        ...chips,
      ),
      h("div", { class: "picture" }, pathsMap(states, picked)),
      ...pair,
      h(
        "p",
        { class: "quiet" },
        "Two dimensions show only a part of the distance. The cosines are of the whole vectors.",
      ),
    );
  };
  return { node, draw };
}
