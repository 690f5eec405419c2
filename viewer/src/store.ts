// State of the page: one object that only update() changes. Has undo, and is kept in the URL's fragment.
import { type Capture, columnTokens, firstHead, type Head, headKey, rowTokens } from "./capture";
import type { Source } from "./chain";
import type { Live } from "./live/live";

export const viewTitles = {
  sound: "Sound",
  map: "Heat map",
  lines: "Lines",
  steps: "Step by step",
  neurons: "Neurons",
  generation: "Generation",
  beams: "Beams",
  whatif: "What if",
  compare: "Compare",
  meaning: "Meaning",
  layers: "Inside a layer",
  picture: "Picture",
  basics: "Basics",
  tokenizers: "Tokenizers",
  film: "Training",
  errors: "Common errors",
  table: "Table",
} as const;

export type View = keyof typeof viewTitles;

/** Return the views for which the capture has data. */
export function viewsOf(capture: Capture, live = false): View[] {
  const hidden: Partial<Record<View, boolean>> = {
    neurons: !capture.attention.some((head) => head.values),
    steps: !capture.attention.some((head) => head.values),
    generation: !capture.steps,
    meaning: !capture.activations,
    layers: !capture.activations,
    sound: !capture.sound,
    beams: !capture.beams && !(live && (capture.drawing?.kind ?? "encoder") !== "encoder"),
    tokenizers: !capture.tokenizers,
    film: !capture.film,
    picture: !capture.drawing?.patches || capture.sound !== undefined,
    whatif: !live && !capture.what_if,
  };
  return (Object.keys(viewTitles) as View[]).filter((view) => !hidden[view]);
}

export interface State {
  head: string; // the shown head, as returned by headKey()
  view: View;
  row: number; // index of the selected query; −1: none
  column: number; // index of the selected key; −1: none
  chosen: number[]; // keys whose weights are summed
  overlay: string[]; // further heads drawn in the line view
  step: number; // step that the step-by-step view shows
  feature: number; // feature whose dot product the step-by-step view shows
  written: number; // step that the generation view shows
  temperature: number;
  topK: number; // 0: all listed tokens
  topP: number;
  place: string; // layer shown in "Inside a layer": "encoder.0"
  hideSpecial: boolean;
  hideSinks: boolean;
  rescale: boolean; // the colour scale ends at the largest weight instead of 1
  scaling: boolean; // `scaling`, `mask` and `sameQueryKey` are options of the step-by-step view
  mask: boolean;
  sameQueryKey: boolean;
  vectors: Source;
  positions: boolean; // add position encodings to the inputs; only without trained parameters
  off: string[]; // heads that are switched off in "What if"
  changed: string; // headKey() of the head whose change "What if" shows; "": the most changed one
  path: number[]; // tokens of "Meaning"; empty: chosen by the view
  side: string; // side of "Meaning": "encoder", "decoder"; "": the first
  position: number; // chosen position of "Basics"
  size: number; // number of features d of "Basics"
  piece: string; // token selected in "Tokenizers", as ROW.TOKEN; "": none
  beams: number; // number of beams of "Beams"
  beam: string; // hypothesis selected in "Beams", as returned by placeName(); "": none
  frame: number; // checkpoint of "Training"
  other: string; // second text for "Compare" and for patching
}

// Names in the URL fragment of the numbers in the state.
const numbers = {
  row: "row",
  column: "column",
  step: "step",
  feature: "feature",
  written: "written",
  temperature: "temperature",
  topK: "top-k",
  topP: "top-p",
  position: "position",
  size: "d",
  beams: "beams",
  frame: "frame",
} as const;
const fractions: ReadonlySet<keyof typeof numbers> = new Set(["temperature", "topP"]); // the others are integers
const switches = {
  hideSpecial: "no-special",
  hideSinks: "no-sinks",
  rescale: "largest",
  sameQueryKey: "same-query-key",
} as const;
const switchesOff = { scaling: "scale", mask: "mask", positions: "positions" } as const; // on by default

/** Tokens of a side from which the colour scale reaches only to the largest weight: on a scale to 100 %, the
 * weights of a long text are invisible. */
const mostFullScale = 64;

function longest({ tokens }: Capture): number {
  return Math.max(...[tokens.source, tokens.target].map((side) => side?.text.length ?? 0));
}

export class Store {
  private past: State[] = [];
  private listeners: (() => void)[] = [];
  private readonly initial: State;
  private readonly ended = new AbortController();
  private later: ReturnType<typeof setTimeout> | undefined; // the next attempt to write the address
  readonly views: View[];
  readonly signal = this.ended.signal; // aborted when the page shows another capture
  state: State;

  /** `live`: the connection to the server; undefined in a file. */
  constructor(
    readonly capture: Capture,
    readonly live?: Live,
  ) {
    this.views = viewsOf(capture, live !== undefined);
    this.initial = {
      head: headKey(firstHead(capture)),
      view: capture.sound
        ? "sound"
        : capture.picture && firstHead(capture).kind !== "decoder"
          ? "picture"
          : "map",
      row: -1,
      column: -1,
      chosen: [],
      overlay: [],
      step: 0,
      feature: 0,
      written: Math.max(0, (capture.prompt_tokens ?? 0) - 1), // the first generated token
      temperature: 1,
      topK: 0,
      topP: 1,
      place: "",
      hideSpecial: false,
      hideSinks: false,
      rescale: longest(capture) > mostFullScale,
      scaling: true,
      mask: true,
      sameQueryKey: false,
      vectors: "trained",
      positions: true,
      off: [],
      changed: "",
      path: [],
      side: "",
      position: 10,
      size: 64,
      beams: capture.beams?.width ?? 4,
      beam: "",
      frame: Math.max(0, (capture.film?.frames.length ?? 0) - 1),
      piece: "",
      other: "",
    };
    this.state = { ...this.initial };
  }

  listen(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Change the state. Without effect after end(), such as by a timer: the address belongs to another capture. */
  update(change: Partial<State>, remember = true): void {
    if (this.signal.aborted) return;
    if (remember) {
      this.past.push(this.state);
      if (this.past.length > 200) this.past.shift();
    }
    this.state = { ...this.state, ...change };
    this.writeAddress();
    for (const listener of this.listeners) listener();
  }

  /**
   * Write the state into the address. Firefox and Safari throw if the address changes often, as during the drag of a
   * slider; the last state is then written a second later.
   */
  private writeAddress(): void {
    clearTimeout(this.later);
    if (this.signal.aborted) return;
    try {
      history.replaceState(null, "", `#${this.fragment()}`);
    } catch {
      this.later = setTimeout(() => this.writeAddress(), 1000);
    }
  }

  /** Draw again without a change of the state. */
  redraw(): void {
    for (const listener of this.listeners) listener();
  }

  /** Remove the page's listeners and stop its requests. */
  end(): void {
    this.listeners = [];
    this.ended.abort();
  }

  canUndo(): boolean {
    return this.past.length > 0;
  }

  undo(): void {
    const before = this.past.pop();
    if (before) this.update(before, false);
  }

  /** Return the differences from the default state as a URL fragment. */
  fragment(): string {
    const { state, initial } = this;
    const parts = new URLSearchParams(this.live?.address() ?? []);
    parts.set("head", state.head);
    parts.set("view", state.view);
    for (const [key, name] of Object.entries(numbers) as [keyof typeof numbers, string][])
      if (state[key] !== initial[key]) parts.set(name, String(state[key]));
    for (const [key, name] of Object.entries(switches) as [keyof typeof switches, string][])
      if (state[key] !== initial[key]) parts.set(name, state[key] ? "1" : "0");
    for (const [key, name] of Object.entries(switchesOff) as [keyof typeof switchesOff, string][])
      if (!state[key]) parts.set(name, "0");
    if (state.vectors !== "trained") parts.set("parameters", state.vectors);
    if (state.overlay.length > 0) parts.set("with", state.overlay.join(","));
    if (state.chosen.length > 0) parts.set("sum", state.chosen.join(","));
    if (state.path.length > 0) parts.set("path", state.path.join(","));
    if (state.side) parts.set("side", state.side);
    if (state.off.length > 0) parts.set("off", state.off.join(","));
    if (state.changed) parts.set("changed", state.changed);
    if (state.other) parts.set("other", state.other);
    if (state.place) parts.set("place", state.place);
    if (state.beam) parts.set("beam", state.beam);
    if (state.piece) parts.set("piece", state.piece);
    return parts.toString();
  }

  /** Set the state from a fragment. Parts that do not fit the capture are ignored. */
  restore(fragment: string): void {
    clearTimeout(this.later); // the address is newer than the state
    const parts = new URLSearchParams(fragment.replace(/^#/, ""));
    const state: State = { ...this.initial };
    const known = (key: string) => this.capture.attention.some((head) => headKey(head) === key);
    // Each element once: a token that is listed twice would be summed twice.
    const list = (name: string) => [
      ...new Set((parts.get(name) ?? "").split(",").filter((each) => each !== "")),
    ];
    const head = parts.get("head");
    if (head && known(head)) state.head = head;
    const view = parts.get("view") as View | null;
    if (view && this.views.includes(view)) state.view = view;
    for (const [key, name] of Object.entries(numbers) as [keyof typeof numbers, string][]) {
      const text = parts.get(name) ?? "";
      if ((fractions.has(key) ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text)) state[key] = Number(text);
    }
    for (const [key, name] of Object.entries(switches) as [keyof typeof switches, string][])
      state[key] = parts.has(name) ? parts.get(name) === "1" : this.initial[key];
    for (const [key, name] of Object.entries(switchesOff) as [keyof typeof switchesOff, string][])
      state[key] = parts.get(name) !== "0";
    const source = parts.get("parameters");
    if (source === "random" || source === "none") state.vectors = source;
    this.state = state;
    const [rows, columns] = this.size();
    if (state.row >= rows) state.row = -1;
    if (state.column >= columns) state.column = -1;
    state.written = Math.min(state.written, Math.max(0, (this.capture.steps?.length ?? 0) - 1));
    state.frame = Math.min(state.frame, this.initial.frame);
    state.overlay = list("with").filter(known);
    state.off = list("off").filter(known);
    state.changed = known(parts.get("changed") ?? "") ? parts.get("changed")! : "";
    state.other = (parts.get("other") ?? "").slice(0, 20000);
    state.chosen = list("sum")
      .map(Number)
      .filter((each) => Number.isInteger(each) && each >= 0 && each < columns);
    state.path = list("path")
      .map(Number)
      .filter((each) => Number.isInteger(each) && each >= 0);
    const side = parts.get("side") ?? "";
    if (side === "encoder" || side === "decoder") state.side = side;
    const place = parts.get("place") ?? "";
    if (/^(encoder|decoder)\.\d+$/.test(place)) state.place = place;
    const beam = parts.get("beam") ?? "";
    if (/^\d+\.(kept|finished)\.\d+$/.test(beam)) state.beam = beam;
    const piece = parts.get("piece") ?? "";
    if (/^\d+\.\d+$/.test(piece)) state.piece = piece;
  }

  current(): Head {
    return (
      this.capture.attention.find((head) => headKey(head) === this.state.head) ?? firstHead(this.capture)
    );
  }

  /** Return the number of queries and keys of the shown head. */
  size(): [number, number] {
    const head = this.current();
    return [rowTokens(this.capture, head).length, columnTokens(this.capture, head).length];
  }

  /** Select a head. Parts of the state that do not fit its tokens are cleared. */
  show(head: Head, change: Partial<State> = {}): void {
    const before = this.current();
    const same = before.kind === head.kind;
    this.update({ head: headKey(head), ...(same ? {} : { row: -1, column: -1, chosen: [] }), ...change });
  }
}
