// The view "What if": switch heads off and compare the result with the unchanged model.
import { headKey, headName, kindsOf, kindTitle } from "../capture";
import { h, redraw } from "../dom";
import { changedPasses } from "../live/forced";
import { LatestRequest } from "../live/latest_request";
import { type Outcome, outcomeOf, writtenOutcome } from "../outcome";
import type { Store } from "../store";
import { outcomeParts } from "./outcome";
import { patchPart } from "./patch";
import { rankingPart } from "./ranking";
import { requestStatus } from "./request_status";

/** Run the model with the heads off: over the same tokens, and generating freely. */
async function measured(store: Store, off: readonly string[], signal: AbortSignal): Promise<Outcome> {
  const { forced, free } = await changedPasses(store.live!, store.capture, { off }, signal);
  return outcomeOf(store.capture, forced, free);
}

const shortTitle = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" } as const;

function switches(store: Store): HTMLElement {
  const { capture, live } = store;
  const possible = new Set(capture.what_if?.map(({ off }) => off));
  const rows = kindsOf(capture).flatMap((kind) => {
    const heads = capture.attention.filter((head) => head.kind === kind && head.head !== undefined);
    const layers = [...new Set(heads.map((head) => head.layer))];
    return layers.map((layer) =>
      h(
        "div",
        { class: "switches", role: "group", "aria-label": `${kindTitle[kind]}, layer ${layer}` },
        h("span", { class: "quiet" }, `${shortTitle[kind]}, layer ${layer}`),
        ...heads
          .filter((head) => head.layer === layer)
          .map((head) => {
            const key = headKey(head);
            const off = store.state.off.includes(key);
            const button = h(
              "button",
              {
                type: "button",
                class: "switch",
                "aria-pressed": String(off),
                "aria-label": `Switch off ${headName(head)}`,
                title: head.caption,
                disabled: !live && !possible.has(key),
              },
              String(head.head),
            );
            button.addEventListener("click", () => {
              const rest = live ? store.state.off.filter((other) => other !== key) : [];
              store.update({ off: off ? rest : [...rest, key], changed: "" });
            });
            return button;
          }),
      ),
    );
  });
  return h("div", { class: "all-switches" }, ...rows);
}

export function whatIfView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "whatif" });
  const [ranking, patch] = [rankingPart(store), patchPart(store)];
  const chooser = h("div");
  const result = h("div", { role: "status" });
  let begin = 0; // when the request was sent
  const request = new LatestRequest<Outcome>(store.signal, () => {
    draw();
    if (request.answer) performance.measure("what if", { start: begin, end: performance.now() });
  });
  node.append(
    h(
      "p",
      {},
      store.live
        ? "Select heads to switch off: the output of each is multiplied by 0, and the model runs again."
        : "Select a head to switch it off: its output is multiplied by 0. This file has the results for the most telling heads; a page that regard serve serves computes any choice.",
    ),
    chooser,
    result,
    ranking.node,
    patch.node,
  );
  /** Return what is shown if at least one head is off; on a served page, send the request for it. */
  const resultOf = (off: readonly string[]): HTMLElement[] => {
    const key = off.join(",");
    if (store.live)
      request.ask(key, (signal) => {
        begin = performance.now();
        return measured(store, off, signal);
      });
    const outcome = store.live ? request.answer : writtenOutcome(store.capture, key);
    if (outcome) return outcomeParts(store, outcome);
    return store.live
      ? requestStatus(request)
      : [h("p", { class: "note" }, "This file has no result for this choice of heads.")];
  };
  const draw = () => {
    if (store.state.view !== "whatif") return;
    const { off } = store.state;
    if (off.length === 0) request.clear();
    redraw(chooser, switches(store));
    redraw(result, ...(off.length > 0 ? resultOf(off) : [h("p", { class: "quiet" }, "All heads are on.")]));
    ranking.draw();
    patch.draw();
  };
  return { node, draw };
}
