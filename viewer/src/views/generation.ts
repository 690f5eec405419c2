// The view "Generation": for each step the weights of one head and the next-token probabilities.
import type { Capture, Step } from "../capture.gen";
import { columnTokens, type Head, headName, mostTelling, weightsOf } from "../capture";
import { h, redraw, share } from "../dom";
import { nextTokenProbabilities } from "../math";
import { directionOf, shownTokens } from "../tokens";
import type { Store } from "../store";
import { player, slider } from "./player";

const mostBars = 12;
const mostStrip = 64; // maximum number of tokens; longer texts show only the largest weights
const fewStrip = 16;

/** Return the selected head if it has a row for each generated token, else the most telling such head. */
function headFor(store: Store): Head | undefined {
  const shown = store.current();
  if (shown.kind !== "encoder" && shown.weights) return shown;
  const other = store.capture.attention.filter((head) => head.kind !== "encoder" && head.weights);
  return mostTelling(
    other.some((head) => head.kind === "cross") ? other.filter((head) => head.kind === "cross") : other,
  );
}

/** Return the place of the written token in the list of a step; −1 if it is not listed. */
function positionOf(capture: Capture, step: Step, at: number): number {
  const { ids, text } = capture.tokens.written ?? { text: [] };
  return ids ? step.ids.indexOf(ids[at] ?? -1) : step.text.indexOf(text[at] ?? "");
}

/** Format a small probability with two digits: "0.19 %", "4.1e-5 %". */
function small(probability: number): string {
  const value = 100 * probability;
  return `${value >= 0.001 ? Number(value.toPrecision(2)) : value.toExponential(1)} %`;
}

export function generationView(store: Store): { node: HTMLElement; draw: () => void } {
  const steps = store.capture.steps ?? [];
  const written = shownTokens(store.capture.tokens.written);
  // number of steps whose token is part of the prompt
  const given = Math.max(0, (store.capture.prompt_tokens ?? 0) - 1);
  const listed = steps[0]?.ids.length ?? 0;
  const sliders = [
    slider(
      "Step",
      { min: 0, max: Math.max(0, steps.length - 1), step: 1 },
      () => store.state.written,
      (value) => store.update({ written: value }, false),
      (value) => `${value + 1} of ${steps.length}`,
    ),
    slider(
      "Temperature",
      { min: 0.1, max: 2, step: 0.05 },
      () => store.state.temperature,
      (temperature) => store.update({ temperature }, false),
      (value) => value.toFixed(2),
    ),
    slider(
      "Top-k",
      { min: 0, max: listed, step: 1 },
      () => store.state.topK,
      (topK) => store.update({ topK }, false),
      (value) => (value === 0 ? "all" : String(value)),
    ),
    slider(
      "Top-p",
      { min: 0.05, max: 1, step: 0.05 },
      () => store.state.topP,
      (topP) => store.update({ topP }, false),
      (value) => value.toFixed(2),
    ),
  ];
  const play = player(store.signal, {
    last: () => steps.length - 1,
    at: () => store.state.written,
    go: (written) => store.update({ written }, false),
    pause: 1200,
  });
  const body = h("div");
  const node = h(
    "div",
    { class: "generation" },
    h("div", { class: "controls" }, sliders[0]!.node, play.node),
    body,
    h("div", { class: "controls filters" }, ...sliders.slice(1).map((each) => each.node)),
  );

  /** In long texts only the tokens with the largest weights are shown. */
  const stripPlaces = (weights: readonly number[]) => {
    const all = weights.map((_, i) => i);
    if (all.length <= mostStrip) return all;
    const largest = [...all].sort((a, b) => weights[b]! - weights[a]!).slice(0, fewStrip);
    return largest.sort((a, b) => a - b);
  };

  const strip = (names: readonly string[], weights: readonly number[]) =>
    h(
      "p",
      { class: "tokens", dir: directionOf(names) },
      ...stripPlaces(weights).map((i) =>
        h(
          "span",
          {
            class: "token",
            style: `--share: ${Math.round(40 * (weights[i] ?? 0))}%`,
            title: `${(100 * (weights[i] ?? 0)).toFixed(1)} %`,
          },
          h("bdi", {}, names[i]!),
          h("small", {}, (weights[i] ?? 0) >= 0.005 ? `${Math.round(100 * weights[i]!)}` : " "),
        ),
      ),
    );

  const progress = (at: number) =>
    h(
      "p",
      { class: "tokens", dir: directionOf(written) },
      ...written.slice(0, steps.length).map((name, i) => {
        const token = h(
          "button",
          {
            type: "button",
            "data-key": `step ${i}`,
            class: `token ${i === at ? "now" : i > at ? "later" : ""}${i < given ? " given" : ""}`,
          },
          h("bdi", {}, name),
        );
        token.addEventListener("click", () => store.update({ written: i }));
        return token;
      }),
    );

  const bars = (at: number) => {
    const step = steps[at]!;
    const { temperature, topK, topP } = store.state;
    const probabilities = nextTokenProbabilities(step.logits, step.log_sum_exp, { temperature, topK, topP });
    const unfiltered = temperature === 1 && topK === 0 && topP >= 1;
    const shown = probabilities.map((_, i) => i).slice(0, mostBars);
    const names = shownTokens(step);
    const total = step.logits.reduce((sum, logit) => sum + Math.exp(logit - step.log_sum_exp), 0);
    const position = positionOf(store.capture, step, at);
    const word = at < given ? "given" : "written";
    return [
      h("h3", {}, "Next token"),
      h(
        "ol",
        { class: "bars" },
        ...shown.map((i) =>
          h(
            "li",
            i === position ? { class: "picked" } : {},
            h("bdi", {}, names[i]!),
            h("span", { class: "bar" }, h("i", { style: `width: ${(100 * probabilities[i]!).toFixed(2)}%` })),
            h("span", { class: "number" }, share(probabilities[i]!)),
          ),
        ),
      ),
      h(
        "p",
        { class: "quiet" },
        unfiltered
          ? `The ${step.ids.length} listed tokens hold ${(100 * total).toFixed(1)} % of the probability. `
          : `Relative to the ${step.ids.length} most probable tokens. `,
        position >= 0
          ? `The ${word} token is bold.`
          : `The ${word} token is not listed: its probability is ${small(Math.exp(step.written_logit - step.log_sum_exp))}.`,
      ),
    ];
  };

  const draw = () => {
    if (store.state.view !== "generation") return play.stop();
    for (const each of sliders) each.draw();
    const at = Math.max(0, Math.min(store.state.written, steps.length - 1));
    const head = headFor(store);
    const weights = head && weightsOf(head)?.[at];
    redraw(
      body,
      h("h3", {}, given > 0 ? "Given (grey), then written" : "Written"),
      progress(at),
      ...(head && weights
        ? [
            h(
              "h3",
              {},
              `${headName(head)}, ${at < given ? "before" : "while"} `,
              h("bdi", {}, written[at] ?? ""),
              at < given ? ", which is given; percent" : " is written; percent",
            ),
            strip(columnTokens(store.capture, head), weights),
            ...(weights.length > mostStrip
              ? [h("p", { class: "quiet" }, `The ${fewStrip} largest of ${weights.length} weights.`)]
              : []),
          ]
        : []),
      ...bars(at),
    );
  };
  return { node, draw };
}
