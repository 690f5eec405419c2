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

/** Steps that are shown one after another. */
export interface Sequence {
  last: () => number; // index of the last step now
  at: () => number; // index of the shown step
  go: (step: number) => void;
  pause: number; // milliseconds between two steps
}

/**
 * Timer that goes from step to step and stops at the last one. At the last step, start() begins with the first.
 * `stopped` is called after it stops.
 */
export function timerOf(
  sequence: Sequence,
  stopped: () => void,
): { start: () => void; stop: () => void; runs: () => boolean } {
  const { last, at, go, pause } = sequence;
  let timer: ReturnType<typeof setInterval> | undefined;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    stopped();
  };
  const start = () => {
    if (at() >= last()) go(0);
    timer = setInterval(() => {
      if (at() >= last()) stop();
      else go(at() + 1);
    }, pause);
  };
  return { start, stop, runs: () => timer !== undefined };
}

/**
 * Return a button that starts and stops a sequence. Call stop() when the view is hidden. `end`: aborted when the page
 * shows another capture.
 */
export function player(end: AbortSignal, sequence: Sequence): { node: HTMLElement; stop: () => void } {
  const node = h("button", { type: "button", "data-key": "play" });
  const draw = () => {
    node.textContent = timer.runs() ? "Pause" : "Play";
  };
  const timer = timerOf(sequence, draw);
  end.addEventListener("abort", timer.stop);
  node.addEventListener("click", () => {
    if (timer.runs()) return timer.stop();
    timer.start();
    draw();
  });
  draw();
  return { node, stop: timer.stop };
}
