#include "report/page_parts.h"

namespace regard::report {

const std::string_view kPageScript = R"js(
const data = JSON.parse(document.getElementById("data").textContent), runs = data.runs;
const element = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
};
const by = id => document.getElementById(id);
const colour = index => `var(--c${index % 6})`;
const visible = runs.map(() => true);
// Titles of known curves. The title of any other curve is derived from its name.
const titles = {learning_rate: "Learning rate", gradient_norm: "Gradient norm before clipping", tokens_per_s: "Tokens per second",
  "validation.perplexity": "Validation perplexity", "validation.bleu": "Validation BLEU", "validation.chrf": "Validation chrF",
  "validation.accuracy": "Validation accuracy"};
const capitalised = text => text[0].toUpperCase() + text.slice(1);
const title = name => titles[name] || capitalised(name.replace("validation.", "validation ").replace(/_/g, " "));
const names = [...new Set(runs.flatMap(run => Object.keys(run.curves)))].filter(name => name !== "loss" && name !== "validation.loss");
const order = name => ["validation.bleu", "validation.chrf", "validation.accuracy", "validation.perplexity"].indexOf(name) + 1 ||
  (name.startsWith("validation.") ? 9 : {learning_rate: 20, gradient_norm: 21, tokens_per_s: 22}[name] || 30);
names.sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
const charts = [{title: "Loss, nats", curves: ["loss", "validation.loss"], loss: true},
  ...names.map(name => ({title: title(name), curves: [name]}))];

// Return the position of a step on the chosen axis, interpolated between the training lines of the log.
const axisValue = (run, step, axis) => {
  if (axis === "steps") return step;
  const column = axis === "epochs" ? 1 : 2, factor = axis === "epochs" ? 1 : 1 / 3600, rows = run.progress;
  if (!rows.length) return null;
  const at = rows.findIndex(row => row[0] >= step);
  if (at === -1) return rows[rows.length - 1][column] * factor;
  const [after, before] = [rows[at], at ? rows[at - 1] : [0, 0, 0]];
  const share = after[0] === before[0] ? 1 : (step - before[0]) / (after[0] - before[0]);
  return (before[column] + share * (after[column] - before[column])) * factor;
};
const onAxis = (run, points, axis) => points.map(([step, value]) => [axisValue(run, step, axis), value]).filter(p => p[0] !== null);

for (const chart of charts) {
  chart.figure = element("figure", {}, element("figcaption", {}, chart.title));
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", chart.title + " by training progress; the values are in the table below");
  chart.figure.append(svg, element("div", {class: "readout"}));
  const table = element("details", {}, element("summary", {}, "Values"));
  table.addEventListener("toggle", () => { if (table.open && !table.querySelector("table")) table.append(valueTable(chart)); });
  chart.figure.append(table);
  by("charts").append(chart.figure);
}
function valueTable(chart) {
  const columns = runs.flatMap((run, i) => chart.curves.filter(name => run.curves[name]).map(name =>
    ({head: (runs.length > 1 ? run.name + ": " : "") + (name.startsWith("validation.") ? "validation" : "training"), values: new Map(run.curves[name])})));
  const steps = [...new Set(columns.flatMap(c => [...c.values.keys()]))].sort((a, b) => a - b);
  const table = element("table", {}, element("tr", {}, element("th", {scope: "col"}, "step"), ...columns.map(c => element("th", {scope: "col"}, c.head))));
  for (const step of steps)
    table.append(element("tr", {}, element("td", {}, String(step)), ...columns.map(c => element("td", {}, c.values.has(step) ? shortNumber(c.values.get(step)) : ""))));
  return element("div", {class: "scroll", style: "max-height: 300px; overflow-y: auto"}, table);
}
function draw() {
  const axis = by("axis").value, smoothing = Number(by("smoothing").value);
  by("smoothing-value").textContent = smoothing.toFixed(2);
  for (const chart of charts) {
    const series = runs.flatMap((run, i) => !visible[i] ? [] : chart.curves.filter(name => run.curves[name]).map(name => ({
      name: (runs.length > 1 ? run.name + " " : "") + (chart.curves.length > 1 ? (name.startsWith("validation.") ? "validation" : "training") : ""),
      colour: colour(runs.length > 1 ? i : chart.curves.indexOf(name)), dashed: runs.length > 1 && name === "validation.loss",
      smooth: !name.startsWith("validation."), points: onAxis(run, run.curves[name], axis)})));
    drawChart(chart.figure, series, {axis, smoothing, log: chart.loss && by("log").checked});
  }
}
const span = seconds => seconds >= 5400 ? (seconds / 3600).toFixed(1) + " h" : seconds >= 90 ? (seconds / 60).toFixed(1) + " min" : seconds.toFixed(0) + " s";
by("summary").textContent = runs.map(run => {
  const last = run.progress[run.progress.length - 1];
  const parts = [last ? `${last[0].toLocaleString("en")} steps in ${span(last[2])}` : "no training steps yet"];
  if (run.best_step >= 0) parts.push(`best validation at step ${run.best_step.toLocaleString("en")}`);
  const machine = run.starts[run.starts.length - 1];
  if (machine && machine.isa) parts.push(machine.isa, machine.threads === 1 ? "1 thread" : `${machine.threads} threads`);
  return `${run.name}: ${parts.join(", ")}`;
}).join(" · ") + (data.reduced ? " · Long curves show the smallest and largest value of each range." : "");
if (runs.length > 1) runs.forEach((run, i) => {
  const box = element("input", {type: "checkbox"});
  box.checked = true;
  box.addEventListener("change", () => { visible[i] = box.checked; draw(); });
  by("runs").append(element("label", {}, box, element("span", {class: "swatch", style: `border-color: ${colour(i)}`}), run.name));
});
for (const id of ["axis", "smoothing", "log"]) by(id).addEventListener("input", draw);
new ResizeObserver(draw).observe(by("charts"));

for (const run of runs.filter(run => run.average)) {
  if (!by("average").childElementCount) by("average").append(element("h2", {}, "Average of the last checkpoints"));
  by("average").append(element("p", {}, `${runs.length > 1 ? run.name + ": " : ""}` +
    Object.entries(run.average).filter(([, v]) => typeof v === "number").map(([k, v]) => `${k} ${shortNumber(v)}`).join(", ")));
}
const sampled = runs.filter(run => run.samples.length);
if (sampled.length) by("samples").append(element("h2", {}, "Samples through training"));
for (const run of sampled) {
  const slider = element("input", {type: "range", min: 0, max: run.samples.length - 1, value: run.samples.length - 1, step: 1});
  const label = element("span"), list = element("div");
  const show = () => {
    const at = run.samples[Number(slider.value)];
    label.textContent = `${runs.length > 1 ? run.name + ", " : ""}step ${at.step.toLocaleString("en")} `;
    list.replaceChildren(...at.samples.map(sample => element("div", {class: "sample"}, ...Object.entries(sample).filter(([, v]) => v !== "").flatMap(([name, value]) =>
      [element("div", {class: "name"}, name), element("div", {dir: "auto"}, typeof value === "string" ? value : JSON.stringify(value))]))));
  };
  slider.addEventListener("input", show);
  by("samples").append(element("label", {class: "quiet"}, label, slider), list);
  show();
}
const confused = runs.filter(run => run.confusion && run.confusion.labels);
if (confused.length) by("confusion").append(element("h2", {}, "Confusion matrix of the last validation"),
  element("p", {class: "quiet"}, "Rows: true label. Columns: predicted label. Shade: share of the row."));
for (const run of confused) {
  const {labels, counts} = run.confusion, table = element("table", {class: "confusion"});
  if (runs.length > 1) table.append(element("caption", {}, run.name));
  table.append(element("tr", {}, element("th"), ...labels.map(label => element("th", {scope: "col"}, String(label)))));
  labels.forEach((label, i) => {
    const total = counts[i].reduce((a, b) => a + b, 0) || 1;
    table.append(element("tr", {}, element("th", {scope: "row"}, String(label)), ...counts[i].map(count =>
      element("td", {style: `background: color-mix(in srgb, var(--accent) ${Math.round(45 * count / total)}%, transparent)`}, String(count)))));
  });
  by("confusion").append(element("div", {class: "scroll"}, table));
}
const keys = [...new Set(runs.flatMap(run => Object.keys(run.settings)))].sort();
const differs = key => new Set(runs.map(run => run.settings[key])).size > 1;
const settingsTable = chosen => element("div", {class: "scroll"}, (() => {
  const table = element("table", {}, element("tr", {}, element("th", {scope: "col"}, "key"), ...runs.map(run => element("th", {scope: "col"}, run.name))));
  for (const key of chosen) table.append(element("tr", {}, element("th", {scope: "row"}, key),
    ...runs.map(run => element("td", differs(key) ? {class: "differs"} : {}, run.settings[key] ?? "not set"))));
  return table;
})());
if (keys.length) {
  by("settings").append(element("h2", {}, "Settings"));
  const different = keys.filter(differs);
  if (runs.length > 1) by("settings").append(different.length ? settingsTable(different) : element("p", {}, "The runs have the same settings."));
  by("settings").append(element("details", {}, element("summary", {}, `All ${keys.length} settings`), settingsTable(keys)));
}
const changed = runs.flatMap(run => run.starts.filter(start => start.changes).map(start => [run, start]));
for (const [run, start] of changed) by("settings").append(element("p", {class: "quiet"},
  `${runs.length > 1 ? run.name + ": c" : "C"}hanged when resumed at step ${start.step}: ` +
  Object.entries(start.changes).map(([key, [before, after]]) => `${key} ${before} → ${after}`).join("; ")));
)js";

}  // namespace regard::report
