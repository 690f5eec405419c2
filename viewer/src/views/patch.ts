// Patching: replace the state of one token after one layer by that of another sentence, and measure the change.
import type { Capture } from "../capture";
import { fixed, h, redraw } from "../dom";
import { partnerOf } from "../live/examples";
import { changedPasses, forcedQuestion } from "../live/forced";
import { computing } from "../live/latest_request";
import { ServerError } from "../live/protocol";
import { lostBetween, type Outcome, outcomeOf } from "../outcome";
import type { Store } from "../store";
import { shownTokens } from "../tokens";
import { outcomeParts } from "./outcome";

const mostPlaces = 240;
const atOnce = 2; // requests sent at the same time

/** Quote a text for an intervention; escape " and \ with a backslash. */
export function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

interface Place {
  layer: number; // −1: the embedding
  token: number;
}

function pointOf(side: string, { layer }: Place): string {
  return layer < 0 ? `${side}.embedding` : `${side}.${layer}.residual`;
}

export function patchIntervention(side: string, place: Place, other: string): string {
  return `patch ${pointOf(side, place)} text=${quoted(other)} positions=${place.token}`;
}

function layersOf(capture: Capture, side: string): number {
  let layers = 0;
  while (capture.drawing?.points.some(({ name }) => name === `${side}.${layers}.residual`)) ++layers;
  return layers;
}

export function patchPart(store: Store): { node: HTMLElement; draw: () => void } {
  const { capture, live } = store;
  const node = h("section", { class: "patch-part" });
  if (!live || !capture.steps || capture.pair || live.question.file)
    return { node: h("section", { hidden: true }), draw: () => undefined };
  const side = capture.tokens.source ? "encoder" : "decoder";
  const tokens = shownTokens(side === "encoder" ? capture.tokens.source : capture.tokens.target);
  const layers = layersOf(capture, side);
  const lost = new Map<string, number>();
  let picked: { place: Place; outcome?: Outcome } | undefined;
  let running: AbortController | undefined;
  let message = "";
  let total = 0;
  let measuredFor = "";
  const other = h("input", { type: "text", "aria-label": "Other sentence", dir: "auto" });
  const go = h("button", { type: "submit" }, "Patch every place");
  const form = h("form", { class: "ask" }, other, go);
  const body = h("div", { role: "status" });
  const nameOf = ({ layer, token }: Place) => `${layer} ${token}`;
  const failed = (error: unknown, signal: AbortSignal) => {
    if (!signal.aborted) message = error instanceof Error ? error.message : String(error);
  };
  const begin = (): AbortController => {
    running?.abort();
    running = new AbortController();
    message = "";
    return running;
  };
  const run = async () => {
    const text = other.value.trim();
    if (!text) return;
    store.update({ other: text }, false);
    const control = begin();
    const { signal } = control;
    lost.clear();
    picked = undefined;
    measuredFor = text;
    const places: Place[] = [];
    for (let layer = -1; layer < layers; ++layer) tokens.forEach((_, token) => places.push({ layer, token }));
    places.splice(mostPlaces);
    total = places.length;
    const forced = forcedQuestion(capture);
    let next = 0;
    const worker = async () => {
      while (next < places.length) {
        const index = next++;
        const place = places[index]!;
        const interventions = [patchIntervention(side, place, text)];
        const small = { page: false, layers: [0], heads: [0] };
        try {
          const after = await live.ask({ ...forced, ...small, interventions }, signal);
          const value = lostBetween(capture, after);
          if (value !== undefined) lost.set(nameOf(place), value);
        } catch (error) {
          // Status 400 means that the other sentence is too short for this position. Every sentence has a first
          // position, so a 400 there is an error of the request.
          if (!(error instanceof ServerError) || error.status !== 400 || index === 0) throw error;
        }
        draw();
      }
    };
    try {
      await Promise.all(Array.from({ length: atOnce }, worker));
    } catch (error) {
      failed(error, signal);
      control.abort(); // stop the requests of the other worker
    }
    if (running !== control) return; // a request for a single place has replaced this one
    running = undefined;
    draw();
  };
  const pick = async (place: Place) => {
    const control = begin();
    const { signal } = control;
    picked = { place };
    const interventions = [patchIntervention(side, place, measuredFor)];
    draw();
    try {
      const { forced, free } = await changedPasses(live, capture, { interventions }, signal);
      if (signal.aborted) return;
      picked = { place, outcome: outcomeOf(capture, forced, free) };
    } catch (error) {
      failed(error, signal);
      if (running === control) picked = undefined;
    }
    if (running !== control) return;
    running = undefined;
    draw();
  };
  const grid = () => {
    const most = Math.max(1e-9, ...lost.values());
    const cell = (place: Place) => {
      const value = lost.get(nameOf(place));
      const chosen = picked && nameOf(picked.place) === nameOf(place);
      const shade = Math.round(45 * Math.max(0, (value ?? 0) / most));
      const button = h(
        "button",
        { type: "button", class: "plain", "data-key": nameOf(place), disabled: value === undefined },
        value === undefined ? "·" : fixed(value, 2),
      );
      button.addEventListener("click", () => void pick(place));
      return h(
        "td",
        {
          class: chosen ? "picked" : "",
          style: `background: color-mix(in srgb, var(--accent) ${shade}%, transparent)`,
        },
        button,
      );
    };
    const name = (layer: number) => (layer < 0 ? "embedding" : `layer ${layer}`);
    return h(
      "div",
      { class: "scroll", tabindex: 0 },
      h(
        "table",
        { class: "matrix" },
        h(
          "caption",
          {},
          "Nats that the written tokens lose when the state at this place is the other sentence's.",
        ),
        h(
          "thead",
          {},
          h("tr", {}, h("th"), ...tokens.map((token) => h("th", { scope: "col" }, h("bdi", {}, token)))),
        ),
        h(
          "tbody",
          {},
          ...Array.from({ length: layers + 1 }, (_, i) => layers - 1 - i).map((layer) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name(layer)),
              ...tokens.map((_, token) => cell({ layer, token })),
            ),
          ),
        ),
      ),
    );
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running && !picked) running.abort();
    else void run();
  });
  store.signal.addEventListener("abort", () => running?.abort());
  node.append(
    h("h3", {}, "Patch from another sentence"),
    h(
      "p",
      { class: "quiet" },
      `Each state of the ${side} is replaced by that of the other sentence at the same position. A large loss shows where the model represents the difference of the two sentences. Positions that the other sentence lacks cannot be patched.`,
    ),
    form,
    body,
  );
  const draw = () => {
    if (document.activeElement !== other && other.value === "")
      other.value = store.state.other || (partnerOf(capture.text) ?? "");
    go.textContent =
      running && total > 0 && !picked ? `Cancel (${lost.size} of ${total})` : "Patch every place";
    const outcome = picked?.outcome;
    redraw(
      body,
      ...(message ? [h("p", { class: "note", role: "alert" }, message)] : []),
      ...(lost.size > 0 ? [grid()] : []),
      ...(picked
        ? [
            h(
              "h3",
              {},
              `Patched: `,
              h("bdi", {}, tokens[picked.place.token]!),
              ` in ${pointOf(side, picked.place)}`,
            ),
            ...(outcome ? outcomeParts(store, outcome) : [h("p", { class: "quiet" }, computing)]),
          ]
        : []),
    );
  };
  return { node, draw };
}
