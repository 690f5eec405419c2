// All heads as thumbnails, one row per layer, with the pattern that describes each best.
import { type HeadCapture, type Kind, headKey, headName, kindTitle, kindsOf } from "../capture";
import { css, h } from "../dom";
import type { Store } from "../store";

const side = 56;

/** Draw the weights reduced to at most 32 × 32 cells; each cell is the largest weight it covers. */
function thumbnail(head: HeadCapture): HTMLCanvasElement {
  const canvas = h("canvas", { width: side, height: side, "aria-hidden": "true" });
  const context = canvas.getContext("2d")!;
  const [rows, columns] = [head.weights.length, head.weights[0]?.length ?? 0];
  const [down, across] = [Math.min(32, rows), Math.min(32, columns)];
  context.fillStyle = css("--accent");
  for (let r = 0; r < down; ++r) {
    for (let c = 0; c < across; ++c) {
      let most = 0;
      for (let i = Math.floor((r * rows) / down); i < Math.floor(((r + 1) * rows) / down); ++i)
        for (let j = Math.floor((c * columns) / across); j < Math.floor(((c + 1) * columns) / across); ++j)
          most = Math.max(most, head.weights[i]![j]!);
      context.globalAlpha = most;
      context.fillRect((c * side) / across, (r * side) / down, side / across + 0.5, side / down + 0.5);
    }
  }
  return canvas;
}

export function gridView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("section", { class: "grid", "aria-label": "All heads" });
  const buttons = new Map<string, HTMLButtonElement>();
  const build = () => {
    buttons.clear();
    const kinds = kindsOf(store.capture).map((kind: Kind) => {
      const heads = store.capture.attention.filter((head) => head.kind === kind);
      const layers = [...new Set(heads.map((head) => head.layer))];
      return h(
        "div",
        {},
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
                    title: head.caption ?? headName(head),
                    "aria-label": `${headName(head)}. ${head.caption ?? ""}`,
                  },
                  thumbnail(head),
                  h("span", {}, head.pattern ?? (head.head === undefined ? "average" : String(head.head))),
                );
                button.addEventListener("click", (event) => {
                  const key = headKey(head);
                  if (!event.shiftKey) return store.update({ head: key });
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
      h("p", { class: "quiet" }, "Select a head. Shift and click draws further heads into the line view."),
      ...kinds,
    );
  };
  build();
  const draw = () => {
    for (const [key, button] of buttons) {
      button.setAttribute("aria-pressed", String(key === store.state.head));
      button.classList.toggle("overlaid", store.state.overlay.includes(key));
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    build();
    draw();
  });
  return { node, draw };
}
