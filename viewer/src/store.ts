// The page's state: one object, changed only by update(), with undo and the state in the URL's fragment.
import { type Capture, firstHead, headKey } from "./capture";

export type View = "map" | "lines" | "steps" | "table";

export interface State {
  head: string; // headKey of the head that is shown
  view: View;
  row: number; // selected query; −1: none
  column: number; // selected key; −1: none
  overlay: string[]; // further heads drawn into the line view
  step: number; // of the step-by-step view
  hideSpecial: boolean;
  rescale: boolean; // colour scale up to the largest weight instead of 1
  scaling: boolean; // switches of the step-by-step view
  mask: boolean;
  sameQueryKey: boolean;
}

const views: readonly View[] = ["map", "lines", "steps", "table"];

export class Store {
  private past: State[] = [];
  private listeners: (() => void)[] = [];
  state: State;

  constructor(readonly capture: Capture) {
    this.state = {
      head: headKey(firstHead(capture)),
      view: "map",
      row: -1,
      column: -1,
      overlay: [],
      step: 0,
      hideSpecial: false,
      rescale: false,
      scaling: true,
      mask: true,
      sameQueryKey: false,
    };
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  update(change: Partial<State>, remember = true): void {
    if (remember) {
      this.past.push(this.state);
      if (this.past.length > 200) this.past.shift();
    }
    this.state = { ...this.state, ...change };
    history.replaceState(null, "", `#${this.fragment()}`);
    for (const listener of this.listeners) listener();
  }

  undo(): void {
    const before = this.past.pop();
    if (before) this.update(before, false);
  }

  /** State that differs from the default, as a URL fragment. */
  fragment(): string {
    const { head, view, row, column, overlay, step, hideSpecial, rescale } = this.state;
    const parts = new URLSearchParams({ head, view });
    if (row >= 0) parts.set("row", String(row));
    if (column >= 0) parts.set("column", String(column));
    if (overlay.length > 0) parts.set("with", overlay.join(","));
    if (step > 0) parts.set("step", String(step));
    if (hideSpecial) parts.set("special", "hidden");
    if (rescale) parts.set("scale", "largest");
    return parts.toString();
  }

  /** Take the state from a fragment; parts that do not fit the capture are ignored. */
  restore(fragment: string): void {
    const parts = new URLSearchParams(fragment.replace(/^#/, ""));
    const known = (key: string | null): key is string =>
      key !== null && this.capture.attention.some((head) => headKey(head) === key);
    const number = (key: string) => (/^\d+$/.test(parts.get(key) ?? "") ? Number(parts.get(key)) : undefined);
    const head = parts.get("head");
    if (known(head)) this.state.head = head;
    const view = parts.get("view") as View | null;
    if (view && views.includes(view)) this.state.view = view;
    const shown = this.current();
    const row = number("row");
    if (row !== undefined && row < shown.weights.length) this.state.row = row;
    const column = number("column");
    if (column !== undefined && column < (shown.weights[0]?.length ?? 0)) this.state.column = column;
    this.state.overlay = (parts.get("with") ?? "").split(",").filter(known);
    this.state.step = number("step") ?? 0;
    this.state.hideSpecial = parts.get("special") === "hidden";
    this.state.rescale = parts.get("scale") === "largest";
  }

  current() {
    return (
      this.capture.attention.find((head) => headKey(head) === this.state.head) ?? firstHead(this.capture)
    );
  }
}
