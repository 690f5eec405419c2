// The page: reads the capture written into it, builds the views and connects them with the store.
import "./style.css";
import { type Capture, CaptureError, type HeadCapture, headKey, kindsOf, readCapture } from "./capture";
import { h } from "./dom";
import { saveAs } from "./exports";
import { Store, type View } from "./store";
import { drawingView } from "./views/drawing";
import { gridView } from "./views/grid";
import { heatmapView } from "./views/heatmap";
import { linesView } from "./views/lines";
import { panelView } from "./views/panel";
import { stepsView } from "./views/steps";
import { tableView } from "./views/table";

const viewTitles: Record<View, string> = {
  map: "Heat map",
  lines: "Lines",
  steps: "Step by step",
  table: "Table",
};

function title(capture: Capture): HTMLElement {
  const ablated = capture.ablated.length > 0 ? ` Switched off: ${capture.ablated.join(", ")}.` : "";
  return h(
    "header",
    {},
    h(
      "h1",
      { dir: "auto", ...(capture.text.length > 300 ? { class: "long", tabindex: 0 } : {}) },
      capture.text,
    ),
    ...(capture.translation ? [h("p", { class: "translation", dir: "auto" }, capture.translation)] : []),
    h(
      "p",
      { class: "quiet" },
      `Model: ${capture.model}.${ablated}${capture.left_out ? ` ${capture.left_out}` : ""}`,
    ),
  );
}

/** The head next to `head` in the same layer, or the same head of the next layer, as arrow keys select it. */
function neighbour(
  capture: Capture,
  head: HeadCapture,
  layers: number,
  heads: number,
): HeadCapture | undefined {
  const same = capture.attention.filter((other) => other.kind === head.kind);
  if (heads !== 0) return same[same.indexOf(head) + heads];
  const known = [...new Set(same.map((other) => other.layer))];
  const layer = known[known.indexOf(head.layer) + layers];
  return (
    same.find((other) => other.layer === layer && other.head === head.head) ??
    same.find((other) => other.layer === layer)
  );
}

function connectKeys(store: Store): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName) || event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      return store.undo();
    }
    if (event.ctrlKey || event.metaKey) return;
    const rows = store.current().weights.length;
    const to = (head: HeadCapture | undefined) => head && store.update({ head: headKey(head) });
    const { capture } = store;
    const actions: Record<string, () => void> = {
      ArrowRight: () => to(neighbour(capture, store.current(), 0, 1)),
      ArrowLeft: () => to(neighbour(capture, store.current(), 0, -1)),
      ArrowDown: () => to(neighbour(capture, store.current(), 1, 0)),
      ArrowUp: () => to(neighbour(capture, store.current(), -1, 0)),
      j: () => store.update({ row: Math.min(rows - 1, store.state.row + 1), column: -1 }),
      k: () => store.update({ row: Math.max(0, store.state.row - 1), column: -1 }),
      v: () => {
        const order = Object.keys(viewTitles) as View[];
        store.update({ view: order[(order.indexOf(store.state.view) + 1) % order.length]! });
      },
      Escape: () => store.update({ row: -1, column: -1, overlay: [] }),
    };
    const action = actions[event.key];
    if (!action) return;
    if (event.key.startsWith("Arrow") && target.classList.contains("scroller")) return;
    event.preventDefault();
    action();
  });
}

function toolbar(store: Store): { node: HTMLElement; draw: () => void } {
  const tabs = (Object.keys(viewTitles) as View[]).map((view) => {
    const tab = h(
      "button",
      { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": "view" },
      viewTitles[view],
    );
    tab.addEventListener("click", () => store.update({ view }));
    return [view, tab] as const;
  });
  const check = (label: string, key: "hideSpecial" | "rescale") => {
    const box = h("input", { type: "checkbox" });
    box.addEventListener("change", () => store.update({ [key]: box.checked }));
    return { key, box, node: h("label", {}, box, ` ${label}`) };
  };
  const checks = [
    check("hide special tokens", "hideSpecial"),
    check("scale to the largest weight", "rescale"),
  ];
  const format = h(
    "select",
    { "aria-label": "Save as" },
    h("option", { value: "" }, "Save…"),
    ...["svg", "png", "csv", "json"].map((name) => h("option", { value: name }, name.toUpperCase())),
  );
  format.addEventListener("change", () => {
    if (format.value) saveAs(store, format.value);
    format.value = "";
  });
  return {
    node: h(
      "div",
      { class: "toolbar" },
      h("div", { role: "tablist", "aria-label": "View" }, ...tabs.map(([, tab]) => tab)),
      ...checks.map((each) => each.node),
      format,
    ),
    draw: () => {
      for (const [view, tab] of tabs) tab.setAttribute("aria-selected", String(view === store.state.view));
      for (const each of checks) each.box.checked = store.state[each.key];
    },
  };
}

function show(root: HTMLElement, capture: Capture): void {
  const store = new Store(capture);
  store.restore(location.hash);
  const views = {
    map: heatmapView(store),
    lines: linesView(store),
    steps: stepsView(store),
    table: tableView(store),
  };
  const [bar, panel, grid, drawing] = [toolbar(store), panelView(store), gridView(store), drawingView(store)];
  const holder = h("div", { id: "view", role: "tabpanel" });
  let last: View | undefined;
  const draw = () => {
    const { view } = store.state;
    if (last !== view) holder.replaceChildren(views[view].node);
    last = view;
    holder.setAttribute("aria-labelledby", `tab-${view}`);
    for (const part of [bar, views[view], panel, grid, drawing]) part.draw();
    if (view !== "steps") views.steps.draw();
  };
  root.replaceChildren(
    title(capture),
    drawing.node,
    bar.node,
    h("div", { class: "body" }, holder, panel.node),
    grid.node,
    h(
      "p",
      { class: "quiet keys" },
      h("kbd", {}, "←"),
      h("kbd", {}, "→"),
      " head, ",
      h("kbd", {}, "↑"),
      h("kbd", {}, "↓"),
      " layer, ",
      h("kbd", {}, "j"),
      h("kbd", {}, "k"),
      " token, ",
      h("kbd", {}, "v"),
      " view, ",
      h("kbd", {}, "Esc"),
      " clear, ",
      h("kbd", {}, "Ctrl"),
      h("kbd", {}, "z"),
      " undo.",
    ),
  );
  document.title = `Attention: ${capture.text}`;
  store.listen(draw);
  connectKeys(store);
  draw();
  new ResizeObserver(draw).observe(root);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("hashchange", () => {
    store.restore(location.hash);
    draw();
  });
  if (kindsOf(capture).length > 1) root.dataset["kinds"] = "several";
}

const root = document.getElementById("page")!;
try {
  show(root, readCapture(JSON.parse(document.getElementById("data")!.textContent)));
} catch (error) {
  if (!(error instanceof CaptureError || error instanceof SyntaxError)) throw error;
  root.replaceChildren(h("p", {}, `This page has no valid capture: ${error.message}.`));
}
