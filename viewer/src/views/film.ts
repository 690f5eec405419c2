// The view "Training": the weights of one head in the checkpoints of the run.
import { columnTokens, type Head, headKey, headName, type Matrix, rowTokens } from "../capture";
import { fixed, h, percent, redraw } from "../dom";
import { largestOf } from "../math";
import { rowsOf } from "../packed";
import type { Store } from "../store";
import { player, slider } from "./player";
import { smallMap } from "./small_map";

const mostCells = 1600; // maximum number of cells with numbers

/** Return the index in the film's heads of the selected head, or of the first. */
function headIndex(store: Store): number {
  return Math.max(0, store.capture.film!.heads.indexOf(headKey(store.current())));
}

function weightTable(store: Store, head: Head, weights: Matrix): HTMLElement {
  const rows = rowTokens(store.capture, head);
  const columns = columnTokens(store.capture, head);
  if (rows.length * columns.length > mostCells)
    return smallMap({ title: headName(head), matrix: weights, maximum: largestOf(weights) });
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Weights" },
    h(
      "table",
      { class: "matrix" },
      h("caption", {}, h("span", {}, `${headName(head)}: weights in percent.`)),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "token"),
          ...columns.map((token) => h("th", { scope: "col" }, h("bdi", {}, token))),
        ),
      ),
      h(
        "tbody",
        {},
        ...rows.map((token, r) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("bdi", {}, token)),
            ...columns.map((_, c) => {
              const weight = weights[r]![c]!;
              const shade = Math.round(50 * weight);
              const style = `background: color-mix(in srgb, var(--accent) ${shade}%, var(--paper))`;
              return h("td", { style }, percent(weight));
            }),
          ),
        ),
      ),
    ),
  );
}

function checkpoints(store: Store): HTMLElement {
  const { frames } = store.capture.film!;
  const texts = frames.some(({ translation }) => translation);
  const likely = frames.some((frame) => frame.log_probability !== undefined);
  const names = ["Step", ...(likely ? ["Mean log-probability"] : [])];
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Checkpoints" },
    h(
      "table",
      { class: "results" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...names.map((name) => h("th", { scope: "col" }, name)),
          ...(texts ? [h("th", { scope: "col", class: "name" }, "Text that the checkpoint generates")] : []),
        ),
      ),
      h(
        "tbody",
        {},
        ...frames.map((frame, i) => {
          const chosen = i === store.state.frame;
          const button = h(
            "button",
            {
              type: "button",
              class: "small",
              "aria-pressed": String(chosen),
              "aria-label": `Step ${frame.step}`,
            },
            String(frame.step),
          );
          button.addEventListener("click", () => store.update({ frame: i }));
          return h(
            "tr",
            chosen ? { class: "picked" } : {},
            h("th", { scope: "row" }, button),
            ...(likely
              ? [h("td", {}, frame.log_probability === undefined ? "" : fixed(frame.log_probability))]
              : []),
            ...(texts ? [h("td", { class: "name" }, h("bdi", {}, frame.translation ?? ""))] : []),
          );
        }),
      ),
    ),
  );
}

export function filmView(store: Store): { node: HTMLElement; draw: () => void } {
  const film = store.capture.film;
  const node = h("div", { class: "film" });
  if (!film) return { node, draw: () => undefined };
  const last = film.frames.length - 1;
  const step = slider(
    "Checkpoint",
    { min: 0, max: last, step: 1 },
    () => store.state.frame,
    (frame) => store.update({ frame }, false),
    (frame) => `step ${film.frames[frame]!.step}`,
  );
  const play = player(store.signal, {
    last: () => last,
    at: () => store.state.frame,
    go: (frame) => store.update({ frame }, false),
    pause: 1200,
  });
  const heads = film.heads.flatMap((key) => {
    const head = store.capture.attention.find((each) => headKey(each) === key);
    if (!head) return [];
    const button = h("button", { type: "button", class: "chip" }, headName(head));
    button.addEventListener("click", () => store.show(head));
    return [{ head, button }];
  });
  const body = h("div");
  node.append(
    h(
      "p",
      {},
      "The checkpoints of the training run read the same tokens. Move the slider to see how the weights of a head develop.",
    ),
    h("div", { class: "chips", role: "group", "aria-label": "Head" }, ...heads.map(({ button }) => button)),
    h("div", { class: "controls" }, step.node, play.node),
    body,
  );
  const draw = () => {
    if (store.state.view !== "film") return play.stop();
    step.draw();
    const index = headIndex(store);
    heads.forEach(({ button }, i) => button.setAttribute("aria-pressed", String(i === index)));
    const weights = rowsOf(film.frames[store.state.frame]!.weights[index]!);
    redraw(body, weightTable(store, heads[index]!.head, weights), checkpoints(store));
  };
  return { node, draw };
}
