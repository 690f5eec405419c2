// Keyboard: select heads, layers, tokens and views; undo.
import { type Capture, type Head } from "./capture";
import type { Store } from "./store";

/** Return the head that an arrow key selects: the next one in the layer, or the same head of the next layer. */
export function neighbour(capture: Capture, head: Head, layers: number, heads: number): Head | undefined {
  const same = capture.attention.filter((other) => other.kind === head.kind);
  if (heads !== 0) return same[same.indexOf(head) + heads];
  const known = [...new Set(same.map((other) => other.layer))];
  const layer = known[known.indexOf(head.layer) + layers];
  return (
    same.find((other) => other.layer === layer && other.head === head.head) ??
    same.find((other) => other.layer === layer)
  );
}

export function connectKeys(store: Store): void {
  const onKey = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName) || event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      return store.undo();
    }
    if (event.ctrlKey || event.metaKey) return;
    const [rows] = store.size();
    const to = (head: Head | undefined) => head && store.show(head);
    const { capture } = store;
    const actions: Record<string, () => void> = {
      ArrowRight: () => to(neighbour(capture, store.current(), 0, 1)),
      ArrowLeft: () => to(neighbour(capture, store.current(), 0, -1)),
      ArrowDown: () => to(neighbour(capture, store.current(), 1, 0)),
      ArrowUp: () => to(neighbour(capture, store.current(), -1, 0)),
      j: () => store.update({ row: Math.min(rows - 1, store.state.row + 1), column: -1 }),
      k: () => store.update({ row: Math.max(0, store.state.row - 1), column: -1 }),
      v: () =>
        store.update({
          view: store.views[(store.views.indexOf(store.state.view) + 1) % store.views.length]!,
        }),
      Escape: () => store.update({ row: -1, column: -1, overlay: [], chosen: [] }),
    };
    const action = actions[event.key];
    if (!action) return;
    if (event.key.startsWith("Arrow") && target.closest(".scroller, .scroll, [role=tablist]")) return;
    event.preventDefault();
    action();
  };
  document.addEventListener("keydown", onKey, { signal: store.signal });
}
