#include "inspect/page_parts.h"

namespace regard::inspect {

const std::string_view kPageScript = R"js("use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const kindNames = { encoder: "Encoder to itself", decoder: "Decoder to itself", cross: "Decoder to encoder" };
const headName = map => "head" in map ? String(map.head) : "average";
const unique = values => [...new Set(values)];
const make = (name, attributes = {}, text) => {
  const svg = ["svg", "path", "text"].includes(name);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};

const state = { map: data.attention[0], view: "map", row: -1, themes: ["system", "light", "dark"], theme: 0 };
const rowLabels = map => map.kind === "encoder" ? data.source_tokens
  : map.kind === "cross" ? data.written_tokens : data.target_tokens;
const columnLabels = map => map.kind === "decoder" ? data.target_tokens : data.source_tokens;
const ofKind = kind => data.attention.filter(map => map.kind === kind);
const find = (kind, layer, head) => {
  const same = ofKind(kind);
  const near = same.filter(map => map.layer === layer);
  const pool = near.length ? near : same;
  return pool.find(map => headName(map) === head) || pool[0];
};

function fill(select, values, chosen, name = String) {
  select.replaceChildren(...values.map(value => make("option", { value }, name(value))));
  select.value = chosen;
}

function describe(row, columns = null) {
  const map = state.map, weights = map.weights[row], names = columnLabels(map);
  const order = columns || weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a]).slice(0, 5);
  byId("readout").textContent = rowLabels(map)[row] + " → " + order.map(c => names[c] + " " + weights[c]).join(", ");
}

function pick(row) {
  const count = state.map.weights.length;
  state.row = row < 0 ? -1 : Math.min(row, count - 1);
  draw();
  if (state.row >= 0) describe(state.row);
}

function drawTable(map) {
  const table = make("table"), head = make("thead"), first = make("tr"), body = make("tbody");
  first.append(make("th"));
  for (const name of columnLabels(map)) {
    const cell = make("th", { scope: "col" });
    cell.append(make("span", {}, name));
    first.append(cell);
  }
  head.append(first);
  const names = rowLabels(map);
  map.weights.forEach((weights, row) => {
    const line = make("tr");
    if (row === state.row) line.className = "picked";
    const label = make("th", { scope: "row" }, names[row]);
    label.onclick = () => pick(row === state.row ? -1 : row);
    line.append(label);
    weights.forEach((weight, column) => {
      const cell = document.createElement("td");
      if (weight >= 0.005) cell.textContent = Math.round(weight * 100);
      cell.style.cssText = "--w:" + weight;
      if (weight > 0.5) cell.className = "strong";
      line.append(cell);
    });
    body.append(line);
  });
  table.append(head, body);
  // One listener for all cells: a long text has thousands.
  table.onmouseover = table.onclick = event => {
    if (event.target.tagName === "TD")
      describe(event.target.parentNode.sectionRowIndex, [event.target.cellIndex - 1]);
  };
  return table;
}

// Widths come from the browser, so that every script is measured as it is drawn.
const ruler = document.createElement("canvas").getContext("2d");
function widest(names) {
  ruler.font = "15px " + getComputedStyle(document.body).fontFamily;
  return Math.max(...names.map(name => ruler.measureText(name).width));
}

function drawLines(map) {
  const rows = rowLabels(map), columns = columnLabels(map), step = 28;
  const most = Math.max(rows.length, columns.length);
  const left = widest(rows) + 6, right = left + Math.max(110, Math.min(260, innerWidth - left - widest(columns) - 60));
  const svg = make("svg", { width: right + widest(columns) + 8, height: most * step, role: "img",
    "aria-label": "Lines between tokens, thicker where there is more attention" });
  const place = (index, count) => (index + 0.5 + (most - count) / 2) * step;
  map.weights.forEach((weights, row) => {
    if (state.row >= 0 && row !== state.row) return;
    weights.forEach((weight, column) => {
      if (weight < 0.02) return;
      const y0 = place(row, rows.length), y1 = place(column, columns.length), middle = (left + right) / 2;
      svg.append(make("path", { d: `M${left + 4} ${y0}C${middle} ${y0} ${middle} ${y1} ${right - 4} ${y1}`,
        "stroke-width": 0.5 + 4 * weight, "stroke-opacity": 0.15 + 0.85 * weight }));
    });
  });
  rows.forEach((name, row) => {
    const text = make("text", { x: left, y: place(row, rows.length) + 5, "text-anchor": "end" }, name);
    if (row === state.row) text.style.fontWeight = "700";
    text.onclick = text.onmouseenter = () => { if (row !== state.row) pick(row); };
    svg.append(text);
  });
  columns.forEach((name, column) =>
    svg.append(make("text", { x: right, y: place(column, columns.length) + 5 }, name)));
  return svg;
}

// The small pictures of all heads: made anew for another kind or theme only, and after the large one is there.
let headButtons = new Map(), headsOf = "";
function drawHeads() {
  const maps = ofKind(state.map.kind), wanted = state.map.kind + state.theme;
  const press = () => headButtons.forEach((button, map) => button.setAttribute("aria-pressed", map === state.map));
  if (headsOf === wanted) return press();
  headsOf = wanted;
  setTimeout(() => {
    if (headsOf !== wanted) return;
    const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent");
    const colour = accent.trim().split(/\s+/).map(Number);
    headButtons = new Map(maps.length < 2 ? [] : maps.map(map => [map, headButton(map, colour)]));
    byId("heads").replaceChildren(...headButtons.values());
    press();
  }, 0);
}

function headButton(map, colour) {
  const button = make("button", { type: "button", title: `layer ${map.layer}, head ${headName(map)}` });
  const height = map.weights.length, width = map.weights[0].length;
  const canvas = make("canvas", { width, height }), context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  let at = 0;
  for (const weights of map.weights) {
    for (const weight of weights) {
      image.data[at] = colour[0];
      image.data[at + 1] = colour[1];
      image.data[at + 2] = colour[2];
      image.data[at + 3] = 255 * weight;
      at += 4;
    }
  }
  context.putImageData(image, 0, 0);
  button.append(canvas, `${map.layer}.${headName(map)}`);
  button.onclick = () => choose(map);
  return button;
}

function draw() {
  const map = state.map;
  byId("picture").replaceChildren(state.view === "map" ? drawTable(map) : drawLines(map));
  byId("map").setAttribute("aria-pressed", state.view === "map");
  byId("lines").setAttribute("aria-pressed", state.view === "lines");
}

function choose(map) {
  state.map = map;
  if (state.row >= map.weights.length) state.row = -1;
  const same = ofKind(map.kind);
  fill(byId("kind"), unique(data.attention.map(one => one.kind)), map.kind, kind => kindNames[kind]);
  fill(byId("layer"), unique(same.map(one => one.layer)), map.layer);
  fill(byId("head"), unique(same.filter(one => one.layer === map.layer).map(headName)), headName(map));
  const rows = { encoder: "what the encoder read", decoder: "what the decoder read", cross: "what was written" };
  const columns = { encoder: "what it looked at", decoder: "what it looked at", cross: "what was read" };
  byId("caption").textContent = `Rows: ${rows[map.kind]}. Columns: ${columns[map.kind]}. ` +
    (data.ablated.length ? "Heads switched off: " + data.ablated.join(", ") + "." : "");
  draw();
  drawHeads();
  if (state.row >= 0) describe(state.row); else byId("readout").textContent = "";
}

function step(values, value, by) {
  return values[(values.indexOf(value) + by + values.length) % values.length];
}

const move = {
  head: by => choose(find(state.map.kind, state.map.layer,
    step(unique(ofKind(state.map.kind).filter(map => map.layer === state.map.layer).map(headName)), headName(state.map), by))),
  layer: by => choose(find(state.map.kind, step(unique(ofKind(state.map.kind).map(map => map.layer)), state.map.layer, by),
    headName(state.map))),
  kind: () => choose(find(step(unique(data.attention.map(map => map.kind)), state.map.kind, 1), state.map.layer,
    headName(state.map))),
  view: () => { state.view = state.view === "map" ? "lines" : "map"; draw(); },
};
const keys = { ArrowLeft: () => move.head(-1), ArrowRight: () => move.head(1), ArrowUp: () => move.layer(-1),
  ArrowDown: () => move.layer(1), k: move.kind, v: move.view, j: () => pick(state.row + 1),
  i: () => pick(Math.max(0, state.row - 1)), Escape: () => { pick(-1); byId("readout").textContent = ""; } };
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT" || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

byId("text").textContent = data.pair ? `${data.text} | ${data.pair}` : data.text;
byId("translation").textContent = data.translation || "";
byId("unablated").textContent = data.translation_without_ablation
  ? `without ablation: ${data.translation_without_ablation}` : "";
byId("kind").onchange = event => choose(find(event.target.value, state.map.layer, headName(state.map)));
byId("layer").onchange = event => choose(find(state.map.kind, Number(event.target.value), headName(state.map)));
byId("head").onchange = event => choose(find(state.map.kind, state.map.layer, event.target.value));
byId("map").onclick = byId("lines").onclick = move.view;
byId("theme").onclick = event => {
  state.theme = (state.theme + 1) % state.themes.length;
  const theme = state.themes[state.theme];
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  event.target.textContent = "Theme: " + theme;
  drawHeads();
};
choose(data.attention.find(map => map.kind === "cross") || data.attention[0]);
)js";

}  // namespace regard::inspect
