// Thumbnails of all heads, one row per layer, with pattern, entropy and distance.
import { distanceUnit, type Head, headKey, headName, type Kind, kindTitle, kindsOf } from "../capture";
import { fixed, h } from "../dom";
import { thumbnailOf } from "./heatmap";
import type { Store } from "../store";

/** Show the entropy and, for self-attention, the mean distance. */
function facts(head: Head): HTMLElement[] {
  const entropy = h("span", {}, `${fixed(head.entropy, 1)} bits`);
  return head.distance === undefined
    ? [entropy]
    : [entropy, h("span", {}, `dist. ${fixed(head.distance, 1)}`)];
}

export function gridView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("section", { class: "grid", "aria-label": "All heads" });
  const buttons = new Map<string, HTMLButtonElement>();
  const { attention } = store.capture;
  const units = [...new Set(attention.map((head) => distanceUnit(store.capture, head)))];
  const build = () => {
    buttons.clear();
    const kinds = kindsOf(store.capture).map((kind: Kind) => {
      const heads = store.capture.attention.filter((head) => head.kind === kind);
      const layers = [...new Set(heads.map((head) => head.layer))];
      const most = Math.max(...layers.map((layer) => heads.filter((head) => head.layer === layer).length));
      return h(
        "div",
        { class: most > 4 ? "kind wide" : "kind" },
        h("h3", {}, kindTitle[kind]),
        ...layers.map((layer) =>
          h(
            "div",
            { class: "layer" },
            h("span", { class: "quiet" }, `layer ${layer}`),
            ...heads
              .filter((head) => head.layer === layer)
              .map((head) => {
                const button = h(
                  "button",
                  {
                    type: "button",
                    class: head.weights ? "" : "partial",
                    title: `${headName(head)}. ${head.caption}`,
                    "aria-label": `${headName(head)}. ${head.caption}`,
                  },
                  thumbnailOf(head, { "aria-hidden": "true" }),
                  h("b", {}, head.head === undefined ? "average" : `head ${head.head}`),
                  h("span", {}, head.pattern),
                  ...facts(head),
                );
                button.addEventListener("click", (event) => {
                  const key = headKey(head);
                  if (!event.shiftKey) return store.show(head);
                  const { overlay } = store.state;
                  store.update({
                    overlay: overlay.includes(key)
                      ? overlay.filter((other) => other !== key)
                      : [...overlay, key],
                    view: "lines",
                  });
                });
                buttons.set(headKey(head), button);
                return button;
              }),
          ),
        ),
      );
    });
    node.replaceChildren(
      h("h2", {}, "Heads"),
      h(
        "p",
        { class: "quiet" },
        `Each row is a layer. Entropy is in bits, the mean distance (dist.) in ${units.join(" or ")}. Select a head. Shift and click, or the list in the line view, draws further heads into it.`,
      ),
      h("div", { class: "kinds" }, ...kinds),
    );
  };
  build();
  const draw = () => {
    for (const [key, button] of buttons) {
      button.setAttribute("aria-pressed", String(key === store.state.head));
      button.classList.toggle("overlaid", store.state.overlay.includes(key));
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener(
    "change",
    () => {
      build();
      draw();
    },
    { signal: store.signal },
  );
  return { node, draw };
}
