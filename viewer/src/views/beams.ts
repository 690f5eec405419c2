// The view "Beams": the hypotheses that a beam search keeps and finishes at each step.
import { continued, nodeAt, nodesOf, pathTo, type Place, placeName, placeNamed, resultsOf } from "../beams";
import type { BeamNode, Beams, Capture } from "../capture.gen";
import { fixed, h, redraw, s } from "../dom";
import { LatestRequest } from "../live/latest_request";
import type { Store } from "../store";
import { directionOf, shownTokens } from "../tokens";
import { requestStatus } from "./request_status";

const row = { height: 46, gap: 12 };
const gap = 34; // space between two steps, for the lines
const margin = 6;
const characterWidth = 9;
const widest = 64; // maximum number of beams that the server accepts
const generated = 24; // number of tokens that a decoder generates if the page shows no generated tokens

function nameOf(node: BeamNode): string {
  return shownTokens({ text: [node.text], bytes: [node.bytes ?? ""] })[0]!;
}

/** Return the tokens of a hypothesis in a line. */
function hypothesis(beams: Beams, end: Place): HTMLElement {
  const names = pathTo(beams, end).map((place) => nameOf(nodeAt(beams, place)));
  return h(
    "span",
    { class: "hypothesis", dir: directionOf(names) },
    ...names.map((name) => h("bdi", { class: "piece" }, name)),
  );
}

/** What the search did with a node, in words. */
function fateOf(beams: Beams, place: Place, kept: ReadonlySet<string>): string {
  const rank = resultsOf(beams).findIndex((each) => placeName(each) === placeName(place));
  if (place.kind === "kept") {
    if (kept.has(placeName(place))) return "kept";
    return place.step + 1 === beams.steps.length ? "kept until the search ended" : "dropped at the next step";
  }
  const how = nodeAt(beams, place).ended === false ? "reached the maximum length" : "ended";
  if (rank === 0) return `${how}; the result of the search`;
  return rank > 0
    ? `${how}; rank ${rank + 1} of the results`
    : `${how}; its score is too low for the results`;
}

function tree(store: Store, beams: Beams, selected: Place | undefined): HTMLElement {
  const all = nodesOf(beams);
  const widths = beams.steps.map(({ kept, finished }) => {
    const longest = Math.max(...[...kept, ...finished].map((node) => nameOf(node).length), 5);
    return 18 + characterWidth * longest;
  });
  const lefts: number[] = [];
  widths.forEach((_, i) => lefts.push(i === 0 ? margin : lefts[i - 1]! + widths[i - 1]! + gap));
  const top = (rank: number) => margin + rank * (row.height + row.gap);
  const rows = Math.max(...all.map((place) => place.row)) + 1;
  const [width, height] = [lefts.at(-1)! + widths.at(-1)! + margin, top(rows)];
  const kept = continued(beams);
  const results = resultsOf(beams);
  const onPath = (end: Place | undefined) => new Set(end ? pathTo(beams, end).map(placeName) : []);
  const [won, shown] = [onPath(results[0]), onPath(selected)];
  const lines = s("svg", { width, height, "aria-hidden": "true" });
  const buttons = all.map((place) => {
    const [name, node] = [placeName(place), nodeAt(beams, place)];
    const dropped = place.kind === "kept" && !kept.has(name);
    if (place.step > 0) {
      const [x, y] = [lefts[place.step]!, top(place.row) + row.height / 2];
      const [from, start] = [lefts[place.step - 1]! + widths[place.step - 1]!, top(node.parent)];
      const middle = from + gap / 2;
      const state = shown.has(name) ? " shown" : won.has(name) ? " won" : dropped ? " dropped" : "";
      const path = `M${from} ${start + row.height / 2}C${middle} ${start + row.height / 2} ${middle} ${y} ${x} ${y}`;
      lines.append(s("path", { d: path, class: `beam-line${state}` }));
    }
    const rank = results.findIndex((each) => placeName(each) === name);
    const button = h(
      "button",
      {
        type: "button",
        class: `token beam ${place.kind}${won.has(name) ? " won" : ""}${dropped ? " dropped" : ""}${shown.has(name) ? " now" : ""}`,
        style: `left: ${lefts[place.step]}px; top: ${top(place.row)}px; width: ${widths[place.step]}px`,
        "aria-pressed": String(selected !== undefined && placeName(selected) === name),
        "aria-label": `Step ${place.step + 1}: ${nameOf(node)}, score ${fixed(node.score, 2)}, ${fateOf(beams, place, kept)}`,
        "data-key": name,
      },
      h("bdi", {}, nameOf(node)),
      h("small", {}, `${rank >= 0 ? `${rank + 1}. ` : ""}${fixed(node.score, 2)}`),
    );
    const pressed = selected && placeName(selected) === name;
    button.addEventListener("click", () => store.update({ beam: pressed ? "" : name }));
    return button;
  });
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Steps of the search", dir: "ltr" },
    h("div", { class: "beam-tree", style: `width: ${width}px; height: ${height}px` }, lines, ...buttons),
  );
}

function readout(beams: Beams, place: Place | undefined): HTMLElement {
  if (!place)
    return h(
      "p",
      { class: "quiet", role: "status" },
      "Select a token to see the hypothesis that ends with it.",
    );
  const node = nodeAt(beams, place);
  return h(
    "p",
    { role: "status" },
    hypothesis(beams, place),
    ` log-probability ${fixed(node.log_probability)}, score ${fixed(node.score)}: ${fateOf(beams, place, continued(beams))}.`,
  );
}

function results(store: Store, beams: Beams): HTMLElement {
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "Results of the search" },
    h(
      "table",
      { class: "results" },
      h(
        "caption",
        {},
        h(
          "span",
          {},
          `Score: log-probability divided by the number of tokens to the power of ${beams.length_penalty}. The first is the result.`,
        ),
      ),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ...["Rank", "Hypothesis", "Tokens", "Log-probability", "Score"].map((name) =>
            h("th", { scope: "col", class: name === "Hypothesis" ? "name" : "" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        ...resultsOf(beams).map((place, i) => {
          const node = nodeAt(beams, place);
          const chosen = store.state.beam === placeName(place);
          const button = h(
            "button",
            { type: "button", class: "plain", "aria-pressed": String(chosen), "data-key": `rank ${i}` },
            hypothesis(beams, place),
          );
          button.addEventListener("click", () => store.update({ beam: chosen ? "" : placeName(place) }));
          return h(
            "tr",
            {},
            h("th", { scope: "row" }, String(i + 1)),
            h("td", { class: "name" }, button),
            h("td", {}, String(place.step + 1)),
            h("td", {}, fixed(node.log_probability)),
            h("td", {}, fixed(node.score)),
          );
        }),
      ),
    ),
  );
}

export function beamsView(store: Store): { node: HTMLElement; draw: () => void } {
  const { capture, live } = store;
  const status = h("div", { role: "status" });
  const body = h("div");
  const width = h("input", { type: "number", min: 2, max: widest, step: 1, "aria-label": "Number of beams" });
  width.addEventListener("change", () => {
    const beams = Math.round(Number(width.value));
    if (beams >= 2 && beams <= widest) store.update({ beams, beam: "" });
    else width.value = String(store.state.beams);
  });
  const node = h(
    "div",
    { class: "beams" },
    h(
      "p",
      {},
      "At each step, a beam search extends every hypothesis by one token and keeps the best ones. A column is a step; the best hypothesis is at the top, with its score. Ended hypotheses have a double border; faint ones are dropped at the next step. The coloured path is the result.",
    ),
    ...(live ? [h("label", { class: "controls" }, h("span", {}, "Number of beams"), width)] : []),
    status,
    body,
  );
  const request = new LatestRequest<Capture>(store.signal, () => draw());
  const decoder = capture.drawing?.kind === "decoder" && !live?.question.generate;
  const search = (beam: number) => (signal: AbortSignal) =>
    live!.ask(
      { beam, page: false, layers: [0], heads: [0], ...(decoder ? { generate: generated } : {}) },
      signal,
    );
  /** Return the capture with the wanted search, or undefined if the server has not answered. */
  const searched = (): Capture | undefined => {
    const wanted = Math.min(widest, Math.max(2, Math.round(store.state.beams)));
    if (!live || capture.beams?.width === wanted) {
      request.clear();
      return capture;
    }
    request.ask(String(wanted), search(wanted));
    return request.answer;
  };
  let entered: number | undefined; // the number of the state when it was drawn
  const draw = () => {
    if (store.state.view !== "beams") return;
    if (store.state.beams !== entered) width.value = String((entered = store.state.beams));
    const found = searched();
    redraw(status, ...requestStatus(request));
    if (!found) return body.replaceChildren();
    const { beams, left_out } = found;
    if (!beams || beams.steps.length === 0) {
      const reason = (beams ? undefined : left_out) ?? "The search has no steps.";
      return body.replaceChildren(h("p", { class: "note" }, reason));
    }
    const selected = placeNamed(beams, store.state.beam);
    redraw(body, tree(store, beams, selected), readout(beams, selected), results(store, beams));
  };
  return { node, draw };
}
