// Ranking of heads by the log-probability that is lost if the head is ablated. The values come from the capture, or the
// server measures them.
import { type Head, headKey, headName } from "../capture";
import { fixed, h, redraw } from "../dom";
import { changedPasses, forcedQuestion, generates } from "../live/forced";
import { lostBetween } from "../outcome";
import type { Store } from "../store";

const mostHeads = 64;
const mostSwitched = 24;
const atOnce = 2; // requests sent at the same time

export interface Ranked {
  head: string; // as returned by headKey()
  lost: number; // lost log-probability in nats
}

/** Return the ranking in a written page. */
export function writtenRanking(store: Store): Ranked[] {
  return (store.capture.what_if ?? [])
    .flatMap(({ off, lost }) => (lost === undefined ? [] : [{ head: off, lost }]))
    .sort((a, b) => b.lost - a.lost);
}

/** Return the heads to measure: all, or the most telling ones. */
function candidates(store: Store): Head[] {
  const heads = store.capture.attention.filter((head) => head.head !== undefined);
  return [...heads].sort((a, b) => b.telling - a.telling).slice(0, mostHeads);
}

async function measure(store: Store, signal: AbortSignal, done: (ranked: Ranked[], of: number) => void) {
  const heads = candidates(store);
  const ranked: Ranked[] = [];
  const forced = forcedQuestion(store.capture);
  let next = 0;
  const worker = async () => {
    while (next < heads.length) {
      const head = heads[next++]!;
      const question = {
        ...forced,
        off: [headKey(head)],
        page: false,
        layers: [head.layer],
        kind: head.kind,
      };
      const after = await store.live!.ask({ ...question, heads: [head.head!] }, signal);
      const lost = lostBetween(store.capture, after);
      if (lost !== undefined) ranked.push({ head: headKey(head), lost });
      done(ranked, heads.length);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/**
 * Switch the heads off one after another, the largest loss first, until the model generates another text. Return the
 * heads that are then off, or undefined if the text does not change.
 */
async function untilChanged(store: Store, ranked: readonly Ranked[], signal: AbortSignal) {
  const off: string[] = [];
  for (const { head } of ranked.slice(0, mostSwitched)) {
    off.push(head);
    const one = { off, layers: [0], heads: [0] };
    const { free } = await changedPasses(store.live!, store.capture, one, signal);
    if (free !== store.capture.translation) return off;
  }
  return undefined;
}

export function rankingPart(store: Store): { node: HTMLElement; draw: () => void } {
  let ranked = writtenRanking(store);
  let total = ranked.length;
  let running: AbortController | undefined;
  let message = "";
  const node = h("section", { class: "ranking" });
  const run = async (action: (signal: AbortSignal) => Promise<void>) => {
    const control = (running = new AbortController());
    store.signal.addEventListener("abort", () => control.abort(), { once: true });
    message = "";
    draw();
    try {
      await action(control.signal);
    } catch (error) {
      if (!control.signal.aborted) message = error instanceof Error ? error.message : String(error);
      control.abort(); // stop the requests of the other worker
    }
    running = undefined;
    draw();
  };
  const rank = (signal: AbortSignal) =>
    measure(store, signal, (so, of) => {
      [ranked, total] = [[...so].sort((a, b) => b.lost - a.lost), of];
      draw();
    });
  const flip = async (signal: AbortSignal) => {
    const off = await untilChanged(store, ranked, signal);
    if (off) store.update({ off, changed: "" });
    else message = `The text stays the same with ${Math.min(mostSwitched, ranked.length)} heads off.`;
  };
  const row = ({ head, lost }: Ranked, most: number) => {
    const found = store.capture.attention.find((each) => headKey(each) === head);
    const off = store.state.off.includes(head);
    const name = h(
      "button",
      { type: "button", class: "plain", "aria-pressed": String(off) },
      found ? headName(found) : head,
    );
    name.addEventListener("click", () => store.update({ off: off ? [] : [head], changed: "" }));
    return h(
      "li",
      off ? { class: "picked" } : {},
      name,
      h(
        "span",
        { class: "bar" },
        h("i", { style: `width: ${((100 * Math.max(0, lost)) / Math.max(most, 1e-9)).toFixed(1)}%` }),
      ),
      h("span", { class: "number" }, fixed(lost, 3)),
    );
  };
  const draw = () => {
    const parts: HTMLElement[] = [
      h("h3", {}, "Which heads carry the text"),
      h(
        "p",
        { class: "quiet" },
        "Nats of log-probability that the written tokens lose on average with one head switched off. Select a head to see what changes.",
      ),
    ];
    if (store.live && store.capture.steps) {
      const button = (key: string, label: string, action: () => void) => {
        const made = h("button", { type: "button", "data-key": key }, label);
        made.addEventListener("click", action);
        return made;
      };
      const finished = ranked.length > 0 && ranked.length === total;
      const buttons = running
        ? [
            button("measure", finished ? "Cancel" : `Cancel (${ranked.length} of ${total})`, () =>
              running?.abort(),
            ),
          ]
        : [
            button("measure", "Measure every head", () => void run(rank)),
            ...(finished && generates(store.capture)
              ? [button("flip", "Switch off, largest first, until the text changes", () => void run(flip))]
              : []),
          ];
      parts.push(h("p", { class: "controls" }, ...buttons));
    }
    if (message) parts.push(h("p", { class: "note", role: "alert" }, message));
    const most = ranked[0]?.lost ?? 0;
    parts.push(h("ol", { class: "bars changes" }, ...ranked.slice(0, 12).map((each) => row(each, most))));
    redraw(node, ...parts);
    node.hidden = !store.capture.steps || (!store.live && ranked.length === 0);
  };
  return { node, draw };
}
