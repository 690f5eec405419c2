// The view "Basics": sinusoidal positions, and the effect of dividing scores by √d.
import { css, fixed, h, share } from "../dom";
import { cosine, dot, normals, sinusoids, softmaxGradient, softmaxSteps } from "../math";
import type { Store } from "../store";

const positions = 64;
const features = 128;
const cell = { width: 4, height: 5 };

/** Describe position `p` of the encodings: its first features, and its cosine with later positions. */
export function positionFacts(p: number): string {
  const encodings = sinusoids(p + 11, features); // also of positions that are not drawn
  const first = encodings[p]!.slice(0, 6).map((x) => fixed(x, 2));
  const [next, far] = [1, 10].map((distance) => fixed(cosine(encodings[p]!, encodings[p + distance]!)));
  return `position ${p}: [${first.join(", ")}, …]; cosine with the next position ${next}, ten further ${far}`;
}

function positionsPart(store: Store): { node: HTMLElement; draw: () => void } {
  const matrix = sinusoids(positions, features);
  const canvas = h("canvas", {
    width: features * cell.width,
    height: positions * cell.height,
    role: "img",
    "aria-label": "Sinusoidal position encodings: rows are positions, columns features",
  });
  const position = h("input", {
    type: "range",
    min: 0,
    max: positions - 1,
    value: store.state.position,
    "aria-label": "Position",
  });
  const readout = h("p", { class: "formula", role: "status" });
  const near = h("canvas", {
    width: features * cell.width,
    height: 64,
    role: "img",
    "aria-label": "Cosine of the chosen position with every position",
  });
  const draw = () => {
    const p = Math.min(positions - 1, Math.floor(store.state.position));
    position.value = String(p);
    const context = canvas.getContext("2d")!;
    context.clearRect(0, 0, canvas.width, canvas.height);
    matrix.forEach((row, r) =>
      row.forEach((value, c) => {
        context.globalAlpha = Math.abs(value);
        context.fillStyle = css(value < 0 ? "--negative" : "--accent");
        context.fillRect(c * cell.width, r * cell.height, cell.width, cell.height);
      }),
    );
    context.globalAlpha = 1;
    context.strokeStyle = css("--ink");
    context.lineWidth = 1.5;
    context.strokeRect(0.5, p * cell.height, features * cell.width - 1, cell.height);
    const bars = near.getContext("2d")!;
    bars.clearRect(0, 0, near.width, near.height);
    const step = near.width / positions;
    matrix.forEach((row, r) => {
      const height = Math.max(0, cosine(row, matrix[p]!)) * 60;
      bars.fillStyle = css(r === p ? "--negative" : "--accent");
      bars.fillRect(r * step, 62 - height, step - 1, height);
    });
    readout.textContent = positionFacts(p);
  };
  const choose = (p: number) => {
    if (p !== store.state.position) store.update({ position: p }, false);
  };
  position.addEventListener("input", () => choose(Number(position.value)));
  const drag = (event: PointerEvent) => {
    if (event.buttons !== 1 && event.type !== "pointerdown") return;
    const box = canvas.getBoundingClientRect();
    const at = Math.floor(((event.clientY - box.top) / box.height) * positions);
    choose(Math.max(0, Math.min(positions - 1, at)));
  };
  canvas.addEventListener("pointerdown", drag);
  canvas.addEventListener("pointermove", drag);
  return {
    node: h(
      "section",
      {},
      h("h3", {}, "Positions"),
      h(
        "p",
        {},
        "Attention does not depend on the order of its tokens, so a vector for each position is added. In the paper's encoding, " +
          "feature 2i is sin(position / 10000^(2i/d)) and feature 2i + 1 the cosine. Drag over the rows.",
      ),
      canvas,
      h("label", { class: "slider" }, h("span", {}, "Position"), position, h("output")),
      readout,
      near,
      h(
        "p",
        { class: "quiet" },
        "Cosine of the chosen position with every position: near positions are similar.",
      ),
    ),
    draw,
  };
}

const sizes = [12, 16, 32, 64, 128, 256, 512, 1024, 2048];

function softmaxPart(store: Store): { node: HTMLElement; draw: () => void } {
  const size = h("input", {
    type: "range",
    min: 0,
    max: sizes.length - 1,
    value: 0,
    "aria-label": "Features d",
  });
  const shownSize = h("output");
  const body = h("div", { class: "two" });
  const bars = (weights: readonly number[]) =>
    h(
      "ol",
      { class: "bars" },
      ...weights.map((weight, i) =>
        h(
          "li",
          {},
          h("span", {}, `key ${i}`),
          h("span", { class: "bar" }, h("i", { style: `width: ${(100 * weight).toFixed(2)}%` })),
          h("span", { class: "number" }, share(weight)),
        ),
      ),
    );
  const draw = () => {
    const d = sizes.includes(store.state.size) ? store.state.size : 64;
    size.value = String(sizes.indexOf(d));
    shownSize.textContent = `d = ${d}`;
    const query = normals(d, 7);
    const scores = Array.from({ length: 8 }, (_, k) => dot(query, normals(d, 100 + k)));
    const columns = [
      ["q · k", scores],
      ["q · k / √d", scores.map((score) => score / Math.sqrt(d))],
    ] as const;
    body.replaceChildren(
      ...columns.map(([name, values]) => {
        const { weights } = softmaxSteps(values);
        const spread = Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
        return h(
          "div",
          {},
          h("h4", {}, `softmax(${name})`),
          bars(weights),
          h(
            "p",
            { class: "quiet" },
            `scores of size ${fixed(spread, 1)}; largest weight ${(100 * Math.max(...weights)).toFixed(1)} %; mean gradient ${softmaxGradient(weights).toExponential(1)}`,
          ),
        );
      }),
    );
  };
  size.addEventListener("input", () => store.update({ size: sizes[Number(size.value)]! }, false));
  return {
    node: h(
      "section",
      {},
      h("h3", {}, "Why scores are divided by √d"),
      h(
        "p",
        {},
        "The dot product of two random vectors with d features has a standard deviation of √d. Without the division a " +
          "large d makes the softmax select one key, and its gradient w (1 − w) becomes nearly 0.",
      ),
      h("label", { class: "slider" }, h("span", {}, "Features"), size, shownSize),
      body,
    ),
    draw,
  };
}

export function basicsView(store: Store): { node: HTMLElement; draw: () => void } {
  const parts = [positionsPart(store), softmaxPart(store)];
  return {
    node: h("div", { class: "basics" }, ...parts.map((part) => part.node)),
    draw: () => {
      if (store.state.view === "basics") for (const part of parts) part.draw();
    },
  };
}
