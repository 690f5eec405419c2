// The view "Inside a layer": layer norm and feed-forward with the captured numbers of one token.
import { activation, type Capture, type Head, type Matrix, mostTelling } from "../capture";
import { fixed, h, redraw } from "../dom";
import { layerNorm, largestDifference, largestOf, length } from "../math";
import { normBetween, rmsNorm } from "../norms";
import { shownTokens } from "../tokens";
import type { Store } from "../store";
import { strip } from "./neurons";

interface Place {
  side: "encoder" | "decoder";
  layer: number;
}

function placesOf(capture: Capture): Place[] {
  return (["encoder", "decoder"] as const).flatMap((side) => {
    const places: Place[] = [];
    for (let layer = 0; activation(capture, `${side}.${layer}.residual`); ++layer)
      places.push({ side, layer });
    return places;
  });
}

/** Return the heads whose queries are the tokens of a side. */
function headsOf(capture: Capture, side: Place["side"]): Head[] {
  return capture.attention.filter(({ kind }) => (kind === "encoder") === (side === "encoder"));
}

/** Return the selected token of a side. The selected row of a head belongs to the side of its queries. */
export function selectedToken(store: Store, side: Place["side"]): number {
  const heads = headsOf(store.capture, side);
  return heads.length === 0 || heads.includes(store.current()) ? Math.max(0, store.state.row) : 0;
}

/** Select a token. If the queries of the shown head are those of the other side, show a head of this side. */
export function selectToken(store: Store, { side, layer }: Place, token: number): void {
  const heads = headsOf(store.capture, side);
  const next = mostTelling(heads.filter((head) => head.layer === layer)) ?? mostTelling(heads);
  if (!next || heads.includes(store.current())) store.update({ row: token });
  else store.show(next, { row: token });
}

function few(vector: readonly number[]): string {
  const shown = vector
    .slice(0, 6)
    .map((x) => fixed(x, 2))
    .join(", ");
  return `[${shown}${vector.length > 6 ? `, … ${vector.length - 6} more` : ""}]`;
}

function section(title: string, sentence: string, ...body: Node[]): HTMLElement {
  return h("section", {}, h("h3", {}, title), h("p", {}, sentence), ...body);
}

function vectorLine(name: string, vector: readonly number[]): HTMLElement {
  return h(
    "p",
    { class: "vector" },
    h("span", {}, name),
    strip(vector, largestOf([vector]), `${name}: ${few(vector)}`),
    h("span", { class: "quiet" }, `length ${fixed(length(vector), 2)} · ${few(vector)}`),
  );
}

/** The first section: the norm before attention, recognised from all tokens. */
function normSection(states: Matrix, inputs: Matrix, token: number): HTMLElement {
  const [before, input] = [states[token]!, inputs[token]!];
  const norm = normBetween(states, inputs);
  if (norm === "none")
    return section(
      "1. Norm",
      "In this model the norm follows the sum at the end of a branch, so attention reads the state as it is.",
      vectorLine("state", before),
    );
  if (norm === "rms") {
    const { size, normalised } = rmsNorm(before);
    return section(
      "1. RMS norm",
      `The state is divided by its root mean square ${fixed(size)}. No mean is subtracted. A learned gain follows.`,
      vectorLine("state", before),
      vectorLine("x / root mean square", normalised),
      vectorLine("with gain", input),
    );
  }
  if (norm === "layer") {
    const { mean, deviation, normalised } = layerNorm(before);
    return section(
      "1. Layer norm",
      `The state's mean ${fixed(mean)} is subtracted, and the result divided by the standard deviation ${fixed(deviation)}. A learned gain and bias follow.`,
      vectorLine("state", before),
      vectorLine("(x − mean) / deviation", normalised),
      vectorLine("with gain and bias", input),
    );
  }
  return section(
    "1. Norm",
    "The state is normalised before attention. With fewer than three tokens, the kind of the norm is not visible in the numbers.",
    vectorLine("state", before),
    vectorLine("normalised", input),
  );
}

function sections(capture: Capture, { side, layer }: Place, token: number): HTMLElement[] {
  const whole = (name: string) => activation(capture, `${side}.${layer}.${name}`);
  const of = (name: string) => whole(name)?.[token];
  const states =
    layer === 0
      ? activation(capture, `${side}.embedding`)
      : activation(capture, `${side}.${layer - 1}.residual`);
  const inputs = whole("self.input");
  const before = states?.[token];
  const output = of("self.output");
  const [inner, fed, after] = [of("feed_forward.inner"), of("feed_forward.output"), of("residual")];
  const all: HTMLElement[] = [];
  if (states?.length && inputs?.length === states.length && inputs[0]!.length === states[0]!.length)
    all.push(normSection(states, inputs, token));
  if (output)
    all.push(
      section(
        "2. Attention",
        "The joined outputs of the heads, times W_O, are added to the state.",
        vectorLine("added", output),
      ),
    );
  const cross = of("cross.output");
  if (cross)
    all.push(
      section(
        "Cross-attention",
        "The joined outputs of the heads over the encoder's states, times W_O, are added to the state.",
        vectorLine("added", cross),
      ),
    );
  if (inner && fed) {
    const zeros = inner.filter((x) => x === 0).length;
    const order = inner.map((_, i) => i).sort((a, b) => Math.abs(inner[b]!) - Math.abs(inner[a]!));
    all.push(
      section(
        "3. Feed-forward",
        `${inner.length} inner neurons, each a dot product with the state, then an activation. ` +
          (zeros > 0
            ? `${zeros} of them are exactly 0 for this token (${Math.round((100 * zeros) / inner.length)} %).`
            : "None of them is exactly 0 for this token."),
        vectorLine("inner", inner),
        h(
          "p",
          { class: "formula" },
          `Largest: ${order
            .slice(0, 6)
            .map((i) => `neuron ${i} = ${fixed(inner[i]!, 2)}`)
            .join(", ")}`,
        ),
        vectorLine("added", fed),
      ),
    );
  }
  if (before && after) {
    const added = [output, cross, fed].filter((each) => each !== undefined);
    const sum = before.map((x, i) => added.reduce((total, each) => total + each[i]!, x));
    const plain = largestDifference([sum], [after]) < 1e-3 * Math.max(1, ...after.map(Math.abs));
    all.push(
      section(
        "4. State after the layer",
        plain
          ? "The sum of the state and everything that was added."
          : "In this model a norm follows each sum, so the state after the layer is not the sum of these vectors.",
        vectorLine("before", before),
        vectorLine("after", after),
      ),
    );
  }
  return all;
}

export function layersView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "inside" });
  const places = placesOf(store.capture);
  const draw = () => {
    if (store.state.view !== "layers") return;
    if (places.length === 0)
      return node.replaceChildren(
        h(
          "p",
          { class: "note" },
          "This capture has no activations. Short texts have them with `attend --html`.",
        ),
      );
    const name = (each: Place) => `${each.side}.${each.layer}`;
    const place = places.find((each) => name(each) === store.state.place) ?? places[0]!;
    const tokens = shownTokens(
      place.side === "encoder" ? store.capture.tokens.source : store.capture.tokens.target,
    );
    const token = Math.min(selectedToken(store, place.side), Math.max(0, tokens.length - 1));
    const choose = (
      label: string,
      entries: [string, string][],
      value: string,
      change: (value: string) => void,
    ) => {
      const select = h(
        "select",
        { "aria-label": label },
        ...entries.map(([key, text]) =>
          h("option", { value: key, ...(key === value ? { selected: true } : {}) }, text),
        ),
      );
      select.addEventListener("change", () => change(select.value));
      return h("label", {}, `${label} `, select);
    };
    redraw(
      node,
      h(
        "p",
        { class: "controls" },
        choose(
          "Layer",
          places.map((each) => [name(each), `${each.side} ${each.layer}`]),
          name(place),
          (value) => store.update({ place: value }),
        ),
        choose(
          "Token",
          tokens.map((text, i) => [String(i), text]),
          String(token),
          (value) => selectToken(store, place, Number(value)),
        ),
      ),
      ...sections(store.capture, place, token),
    );
  };
  return { node, draw };
}
