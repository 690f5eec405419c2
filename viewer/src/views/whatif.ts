// The view "What if": switch heads off and compare the result with the unchanged model.
import { headKey, headName, kindsOf, kindTitle } from "../capture";
import { h, redraw } from "../dom";
import { changedPasses } from "../live/forced";
import { type Outcome, outcomeOf, writtenOutcome } from "../outcome";
import type { Store } from "../store";
import { outcomeParts } from "./outcome";
import { patchPart } from "./patch";
import { rankingPart } from "./ranking";

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
  let running: AbortController | undefined;
  let known: { key: string; outcome?: Outcome; error?: string } = { key: "" };
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
  store.signal.addEventListener("abort", () => running?.abort());
  const compute = (key: string) => {
    running?.abort();
    known = { key };
    if (key === "") return;
    if (!store.live) {
      const outcome = store.state.off.length === 1 ? writtenOutcome(store.capture, key) : undefined;
      known = outcome
        ? { key, outcome }
        : { key, error: "This file has no result for this choice of heads." };
      return;
    }
    const control = (running = new AbortController());
    const begin = performance.now();
    measured(store, store.state.off, control.signal).then(
      (outcome) => {
        if (known.key !== key) return;
        known = { key, outcome };
        draw();
        performance.measure("what if", { start: begin, end: performance.now() });
      },
      (error: unknown) => {
        if (known.key !== key || control.signal.aborted) return;
        known = { key, error: error instanceof Error ? error.message : String(error) };
        draw();
      },
    );
  };
  const draw = () => {
    if (store.state.view !== "whatif") return;
    const key = store.state.off.join(",");
    if (key !== known.key) compute(key);
    redraw(chooser, switches(store));
    const { outcome, error } = known;
    if (key === "") result.replaceChildren(h("p", { class: "quiet" }, "All heads are on."));
    else if (error) result.replaceChildren(h("p", { class: "note" }, error));
    else if (outcome) redraw(result, ...outcomeParts(store, outcome));
    else if (result.childElementCount < 2) result.replaceChildren(h("p", { class: "quiet" }, "Computing…"));
    ranking.draw();
    patch.draw();
  };
  return { node, draw };
}
