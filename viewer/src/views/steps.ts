// The step-by-step view of one head, computed from its captured vectors and parameters.
import { type Head, headKey } from "../capture";
import { chosenVectors, positionsKnown, type Source, type Vectors, vectorsOf } from "../chain";
import { h, redraw } from "../dom";
import { forcedQuestion } from "../live/forced";
import { addParameters } from "../projections";
import type { Store } from "../store";
import { player } from "./player";
import { type Step, stepsOf } from "./step_list";

export const most = 64; // maximum number of tokens on each side

/** Return the reason why a head's numbers cannot be shown one by one, or undefined if they can. */
export function cannotShow(vectors: Vectors | undefined): HTMLElement | undefined {
  if (!vectors)
    return h(
      "p",
      { class: "note" },
      "This capture holds the query, key and value vectors of other heads only. Select one of the most telling heads.",
    );
  if (vectors.query.length > most || vectors.key.length > most)
    return h(
      "p",
      { class: "note" },
      `This view shows at most ${most} tokens a side; this head has ${vectors.query.length} queries and ${vectors.key.length} keys. Select a head below with fewer, such as one of another kind.`,
    );
  return undefined;
}

/** Return a function that requests the vectors and parameters of a head's layer from the server, once for each layer. */
function parametersRequest(store: Store, draw: () => void): (head: Head) => HTMLElement | undefined {
  // for each requested layer: the message shown until its data arrives
  const asked = new Map<string, string>();
  const say = (text: string) => h("p", { class: "quiet", role: "status" }, text);
  return (head) => {
    const { live, capture } = store;
    const tokens = Math.max(...Object.values(capture.tokens).map((side) => side.text.length));
    if (!live || head.parameters || head.head === undefined || tokens > most) return undefined;
    const layer = headKey({ ...head, head: 0 });
    const known = asked.get(layer);
    if (known !== undefined) return known ? say(known) : undefined;
    asked.set(layer, "Loading W_Q, W_K, W_V and W_O of this layer…");
    const { kind } = head;
    const question = { ...forcedQuestion(capture), page: true, parameters: true, kind, layers: [head.layer] };
    live.ask(question, store.signal).then(
      (more) => {
        asked.set(layer, "");
        addParameters(capture, more);
        draw();
      },
      (error: unknown) => {
        if (store.signal.aborted) return;
        asked.set(layer, error instanceof Error ? error.message : String(error));
        draw();
      },
    );
    return say(asked.get(layer)!);
  };
}

const sourceNames: Record<Source, string> = {
  trained: "trained parameters",
  random: "random parameters",
  none: "no parameters",
};

export function stepsView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "steps" });
  let steps: Step[] = []; // of the shown head
  let last = ""; // title of the shown step
  const indexOf = (step: number) => Math.max(0, Math.min(steps.length - 1, step));
  const go = (step: number) => store.update({ step: indexOf(step) }, false);
  const play = player(store.signal, {
    last: () => steps.length - 1,
    at: () => indexOf(store.state.step),
    go,
    pause: 2500,
  });
  const sources = () => {
    const select = h(
      "select",
      { "aria-label": "Parameters" },
      ...(Object.entries(sourceNames) as [Source, string][]).map(([source, name]) =>
        h("option", { value: source, selected: source === store.state.vectors }, name),
      ),
    );
    select.addEventListener("change", () => store.update({ vectors: select.value as Source }));
    return select;
  };
  const toggle = (label: string, key: "scaling" | "mask" | "sameQueryKey" | "positions") => {
    const box = h("input", { type: "checkbox" });
    box.checked = store.state[key];
    box.addEventListener("change", () => store.update({ [key]: box.checked }));
    return h("label", {}, box, ` ${label}`);
  };
  const parameters = parametersRequest(store, () => draw());
  const draw = () => {
    if (store.state.view !== "steps") return play.stop();
    const head = store.current();
    const asked = parameters(head);
    const reason = cannotShow(vectorsOf(head));
    const values = chosenVectors(store.capture, head, store.state);
    if (reason || !values) play.stop();
    if (reason) return redraw(node, asked ?? reason);
    if (!values)
      return redraw(
        node,
        h("p", { class: "controls" }, sources()),
        h(
          "p",
          { class: "note" },
          "This capture has no inputs of this layer. Short texts have them with `attend --html`.",
        ),
      );
    steps = stepsOf(store, head, values);
    const at = indexOf(store.state.step);
    const step = steps[at]!;
    const button = (label: string, to: number) => {
      const b = h("button", { type: "button" }, label);
      b.addEventListener("click", () => go(to));
      return b;
    };
    const body = h("div", { class: step.title === last ? "" : "arriving" }, ...step.body());
    last = step.title;
    redraw(
      node,
      h(
        "ol",
        { class: "trail" },
        ...steps.map((each, i) => {
          const b = h("button", { type: "button", "aria-current": i === at ? "step" : "false" }, each.title);
          b.addEventListener("click", () => go(i));
          return h("li", {}, b);
        }),
      ),
      h(
        "div",
        { class: "controls" },
        button("Back", at - 1),
        play.node,
        button("Next", at + 1),
        sources(),
        toggle("scale", "scaling"),
        ...(values.causal ? [toggle("mask", "mask")] : []),
        toggle("K = Q", "sameQueryKey"),
        ...(store.state.vectors !== "trained" && positionsKnown(store.capture, head)
          ? [toggle("positions", "positions")]
          : []),
      ),
      h("h3", { class: "step" }, `${at + 1}. ${step.title}`),
      h("p", { role: "status" }, step.sentence),
      ...(asked ? [asked] : []),
      body,
    );
    const current = node.querySelector<HTMLElement>(".trail [aria-current=step]");
    if (current) current.closest("ol")!.scrollLeft = current.offsetLeft - 80;
  };
  return { node, draw };
}
