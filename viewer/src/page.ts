// The page of one capture: build the views and connect them with the store.
import type { Capture } from "./capture";
import { h } from "./dom";
import { connectKeys } from "./keys";
import type { Live } from "./live/live";
import { Store, type View, viewTitles } from "./store";
import { basicsView } from "./views/basics";
import { beamsView } from "./views/beams";
import { compareView } from "./views/compare";
import { drawingView } from "./views/drawing";
import { errorsView } from "./views/errors";
import { filmView } from "./views/film";
import { generationView } from "./views/generation";
import { gridView } from "./views/grid";
import { heatmapView } from "./views/heatmap";
import { layersView } from "./views/layers";
import { linesView } from "./views/lines";
import { meaningView } from "./views/meaning";
import { neuronsView } from "./views/neurons";
import { panelView } from "./views/panel";
import { pictureView } from "./views/picture";
import { readingView } from "./views/reading";
import { saveMenu } from "./views/save_menu";
import { soundView } from "./views/sound";
import { stepsView } from "./views/steps";
import { tableView } from "./views/table";
import { tabRow } from "./views/tabs";
import { tokenizersView } from "./views/tokenizers";
import { whatIfView } from "./views/whatif";

/** Describe the model, what was changed in it, and the precision. */
function sentences(capture: Capture): string {
  const all = [`Model: ${capture.model}.`];
  if (capture.ablated.length > 0) all.push(`Switched off: ${capture.ablated.join(", ")}.`);
  const changes = capture.interventions.map(({ kind, at, detail }) => detail ?? `${kind} ${at}`);
  if (changes.length > 0) all.push(`Interventions: ${changes.join("; ")}.`);
  all.push(
    capture.precision === "f32"
      ? "Weights are exact (f32)."
      : "Weights have 8 bits: each is exact to 1/510 of the largest in its row. Vectors are exact (f32).",
  );
  if (capture.left_out) all.push(capture.left_out);
  return all.join(" ");
}

function title(capture: Capture, live: boolean): HTMLElement {
  // The text of a picture or sound is the name of its file.
  const path = capture.drawing && capture.drawing.input !== "tokens" ? capture.text : undefined;
  const text =
    path?.replace(/^.*[\\/]/, "") ?? (capture.pair ? `${capture.text} | ${capture.pair}` : capture.text);
  const before = capture.translation_without_ablation;
  return h(
    "header",
    {},
    h(
      "h1",
      {
        dir: "auto",
        ...(path && path !== text ? { title: path } : {}),
        ...(live ? { class: "spoken" } : text.length > 300 ? { class: "long", tabindex: 0 } : {}),
      },
      text,
    ),
    ...readingView(capture, live),
    ...(capture.translation ? [h("p", { class: "translation", dir: "auto" }, capture.translation)] : []),
    ...(before && before !== capture.translation
      ? [
          h(
            "p",
            { class: "quiet" },
            capture.interventions.length > 0 ? "Without these changes: " : "Without the heads switched off: ",
            h("bdi", {}, before),
          ),
        ]
      : []),
    h("p", { class: "quiet" }, sentences(capture)),
    ...(capture.warnings ?? []).map(({ message }) => h("p", { class: "note" }, `${message}.`)),
  );
}

function toolbar(store: Store): { node: HTMLElement; draw: () => void } {
  const tabs = tabRow(store);
  const check = (label: string, key: "hideSpecial" | "hideSinks" | "rescale", hint: string) => {
    const box = h("input", { type: "checkbox" });
    box.addEventListener("change", () => store.update({ [key]: box.checked }));
    return { key, box, node: h("label", { title: hint }, box, ` ${label}`) };
  };
  const checks = [
    check(
      "hide special tokens",
      "hideSpecial",
      "Leave out separators, start and end tokens; rows sum to 100 % again",
    ),
    check(
      "hide sinks",
      "hideSinks",
      "Leave out tokens that take at least 30 % of all attention; rows sum to 100 % again",
    ),
    check("scale to the largest weight", "rescale", "The full colour is the largest weight instead of 100 %"),
  ];
  const save = saveMenu(store);
  const undo = h("button", { type: "button" }, "Undo");
  undo.addEventListener("click", () => store.undo());
  return {
    node: h(
      "div",
      { class: "toolbar" },
      tabs.node,
      h(
        "div",
        { class: "options" },
        ...checks.map((each) => each.node),
        h("div", { class: "actions" }, save.node, undo),
      ),
    ),
    draw: () => {
      tabs.draw();
      const { view } = store.state;
      const weights = ["map", "lines", "picture", "table"].includes(view);
      // Over a picture and in a table, the scale cannot be changed.
      const scaled = view === "map" || view === "lines" || (view === "picture" && !store.capture.picture);
      for (const each of checks) {
        each.box.checked = store.state[each.key];
        each.node.hidden = each.key === "rescale" ? !scaled : !weights;
      }
      save.draw();
      undo.setAttribute("aria-disabled", String(!store.canUndo()));
    },
  };
}

const keys: [string[], string][] = [
  [["←", "→"], "head"],
  [["↑", "↓"], "layer"],
  [["j", "k"], "token"],
  [["v"], "view"],
  [["Esc"], "clear"],
  [["Ctrl", "z"], "undo"],
];

function watchSize(root: HTMLElement, draw: () => void): ResizeObserver {
  let pending = 0;
  const observer = new ResizeObserver(() => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(draw);
  });
  observer.observe(root);
  return observer;
}

/** Show a capture in `root`. Returns a function that removes its listeners; call it before showing another capture. */
export function show(root: HTMLElement, capture: Capture, live?: Live): () => void {
  const store = new Store(capture, live);
  store.restore(location.hash);
  const views: Record<View, { node: HTMLElement; draw: () => void }> = {
    sound: soundView(store),
    map: heatmapView(store),
    lines: linesView(store),
    steps: stepsView(store),
    neurons: neuronsView(store),
    generation: generationView(store),
    beams: beamsView(store),
    whatif: whatIfView(store),
    compare: compareView(store),
    meaning: meaningView(store),
    layers: layersView(store),
    picture: pictureView(store),
    basics: basicsView(store),
    tokenizers: tokenizersView(store),
    film: filmView(store),
    errors: errorsView(store),
    table: tableView(store),
  };
  const [bar, panel, grid, drawing] = [toolbar(store), panelView(store), gridView(store), drawingView(store)];
  const holder = h("div", { id: "view", role: "tabpanel" });
  const body = h("div", { class: "body" }, holder, panel.node);
  let last: View | undefined;
  const draw = () => {
    const { view } = store.state;
    if (last !== view) {
      holder.replaceChildren(h("h2", { class: "spoken" }, viewTitles[view]), views[view].node);
      if (last) views[last].draw(); // drawing a hidden view stops its timers
    }
    last = view;
    holder.setAttribute("aria-labelledby", `tab-${view}`);
    body.classList.toggle(
      "alone",
      ["meaning", "layers", "basics", "beams", "tokenizers", "film", "errors", "whatif", "compare"].includes(
        view,
      ),
    );
    for (const part of [bar, views[view], panel, grid, drawing]) part.draw();
  };
  root.replaceChildren(
    title(capture, live !== undefined),
    drawing.node,
    bar.node,
    body,
    grid.node,
    h(
      "p",
      { class: "quiet keys" },
      ...keys.flatMap(([names, what], i) => [
        ...names.map((name) => h("kbd", {}, name)),
        ` ${what}${i + 1 < keys.length ? ", " : "."}`,
      ]),
    ),
  );
  document.title = `Attention: ${capture.text}`;
  store.listen(draw);
  connectKeys(store);
  draw();
  performance.measure("first view", { start: 0, end: performance.now() });
  const resized = watchSize(root, draw);
  const { signal } = store;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  window.addEventListener(
    "hashchange",
    () => {
      if (live && !live.shows(location.hash)) return; // the address asks for another capture; start.ts shows it
      store.restore(location.hash);
      draw();
    },
    { signal },
  );
  return () => {
    resized.disconnect();
    store.end();
  };
}
