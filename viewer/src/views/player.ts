// Controls that several views use: a slider with its value, and a button that plays steps.
import { h } from "../dom";

export function slider(
  label: string,
  range: { min: number; max: number; step: number },
  value: () => number,
  change: (value: number) => void,
  text: (value: number) => string,
): { node: HTMLElement; draw: () => void } {
  const input = h("input", { type: "range", ...range, "aria-label": label });
  const shown = h("output");
  input.addEventListener("input", () => change(Number(input.value)));
  return {
    node: h("label", { class: "slider" }, h("span", {}, label), input, shown),
    draw: () => {
      input.value = String(value());
      shown.textContent = text(value());
    },
  };
}

/**
 * Return a button that goes from step to step until the last one, and begins again after it. Call stop() when the view
 * is hidden. `end`: aborted when the page shows another capture.
 */
export function player(
  end: AbortSignal,
  last: number,
  at: () => number,
  go: (step: number) => void,
): { node: HTMLElement; draw: () => void; stop: () => void } {
  let timer = 0;
  const node = h("button", { type: "button" });
  const draw = () => {
    node.textContent = timer ? "Pause" : "Play";
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    draw();
  };
  end.addEventListener("abort", stop);
  node.addEventListener("click", () => {
    if (timer) return stop();
    if (at() >= last) go(0);
    timer = window.setInterval(() => {
      if (at() >= last) stop();
      else go(at() + 1);
    }, 1200);
    draw();
  });
  draw();
  return { node, draw, stop };
}
