#include "report/page_parts.h"

namespace regard::report {

const std::string_view kChartScript = R"js("use strict";
// drawChart() draws a line chart of `series`: [{name, colour, dashed, points: [[x, y or null], …], smooth}].
// The points of a series must be ordered by x.
const svgNode = (name, attributes, text) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const shortNumber = value => {
  if (value === null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return value.toExponential(2);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
};
// Return the exponential moving average of the points' y values, with bias correction. A null y stays null.
const smoothed = (points, weight) => {
  if (weight === 0) return points;
  let sum = 0, total = 0;
  return points.map(([x, y]) => {
    if (y === null) return [x, null];
    sum = weight * sum + (1 - weight) * y;
    total = weight * total + (1 - weight);
    return [x, sum / total];
  });
};
// Return true if a range is so narrow that rounding makes its ticks equal, such as the range of two means that
// differ in the last bit. linearTicks() would not return for such a range.
const sameTicks = (low, high) => high - low <= 1e-12 * Math.max(Math.abs(low), Math.abs(high));
const linearTicks = (low, high, count) => {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push(i * step);
  return ticks;
};
const logTicks = (low, high) => {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const f of [1, 2, 5]) if (f * 10 ** power >= low && f * 10 ** power <= high) ticks.push(f * 10 ** power);
  return ticks.length > 1 ? ticks : [low, high];
};
const nearest = (points, x) => {
  let low = 0, high = points.length - 1;
  while (low < high) { const middle = (low + high) >> 1; if (points[middle][0] < x) low = middle + 1; else high = middle; }
  return low > 0 && x - points[low - 1][0] < points[low][0] - x ? points[low - 1] : points[low];
};
function drawChart(figure, series, options) {
  const svg = figure.querySelector("svg"), readout = figure.querySelector(".readout");
  const width = figure.clientWidth || 400, height = 230, left = 52, right = 10, top = 8, bottom = 24;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const shown = series.filter(s => s.points.length);
  const all = shown.flatMap(s => s.points).filter(p => p[1] !== null && (!options.log || p[1] > 0));
  readout.textContent = "";
  if (!all.length) { svg.append(svgNode("text", {x: left, y: height / 2}, "no values")); return; }
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of all) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
  if (!options.log && y0 > 0 && y0 < 0.4 * y1) y0 = 0;
  if (sameTicks(x0, x1)) { x0 -= 0.5; x1 += 0.5; }
  if (sameTicks(y0, y1)) { const d = Math.abs(y0) * 0.1 || 1; if (options.log) { y0 /= 1.2; y1 *= 1.2; } else { y0 -= d; y1 += d; } }
  const scale = options.log ? Math.log10 : v => v;
  const px = x => left + (x - x0) / (x1 - x0) * (width - left - right);
  const py = y => top + (scale(y1) - scale(y)) / (scale(y1) - scale(y0)) * (height - top - bottom);
  for (const tick of options.log ? logTicks(y0, y1) : linearTicks(y0, y1, 4)) {
    svg.append(svgNode("line", {class: "grid", x1: left, x2: width - right, y1: py(tick), y2: py(tick)}));
    svg.append(svgNode("text", {x: left - 6, y: py(tick) + 4, "text-anchor": "end"}, shortNumber(tick)));
  }
  for (const tick of linearTicks(x0, x1, Math.max(2, Math.floor(width / 110))))
    svg.append(svgNode("text", {x: px(tick), y: height - 7, "text-anchor": "middle"}, shortNumber(tick)));
  svg.append(svgNode("line", {class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom}));
  const path = points => {
    let d = "", pen = false;
    for (const [x, y] of points) {
      if (y === null || (options.log && y <= 0)) { pen = false; continue; }
      d += `${pen ? "L" : "M"}${px(x).toFixed(1)},${py(y).toFixed(1)}`;
      pen = true;
    }
    return d;
  };
  const lines = shown.map(s => ({...s, points: s.smooth ? smoothed(s.points, options.smoothing) : s.points, raw: s.points}));
  for (const s of lines) {
    if (s.points !== s.raw) svg.append(svgNode("path", {class: "raw", d: path(s.raw), stroke: s.colour}));
    svg.append(svgNode("path", {class: "line", d: path(s.points), stroke: s.colour, ...(s.dashed ? {"stroke-dasharray": "6 3"} : {})}));
    if (s.points.length <= 30) for (const [x, y] of s.points) if (y !== null && (!options.log || y > 0))
      svg.append(svgNode("circle", {cx: px(x), cy: py(y), r: 2.4, fill: s.colour}));
  }
  const cursor = svgNode("line", {class: "cursor", y1: top, y2: height - bottom, visibility: "hidden"});
  svg.append(cursor);
  const show = x => {
    cursor.setAttribute("x1", px(x)); cursor.setAttribute("x2", px(x)); cursor.setAttribute("visibility", "visible");
    readout.replaceChildren(`${options.axis} ${shortNumber(x)}: `);
    lines.forEach((s, i) => {
      const value = document.createElement("b");
      // show no value at positions far outside the range of a curve
      const at = nearest(s.points, x), reach = (x1 - x0) * 0.02;
      const ended = x > s.points[s.points.length - 1][0] + reach || x < s.points[0][0] - reach;
      value.textContent = shortNumber(ended ? null : at[1]);
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.borderTop = `3px ${s.dashed ? "dashed" : "solid"} ${s.colour}`;
      readout.append(i ? ", " : "", swatch, ` ${s.name} `, value);
    });
  };
  svg.onpointermove = event => {
    const box = svg.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * width;
    show(Math.min(x1, Math.max(x0, x0 + (at - left) / (width - left - right) * (x1 - x0))));
  };
  svg.onpointerleave = () => show(x1);
  show(x1);
}
)js";

}  // namespace regard::report
