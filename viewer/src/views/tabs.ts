// The row of tabs that selects the view. Keys as in the WAI-ARIA pattern for tabs that are activated manually: the arrow
// keys, Home and End move the focus; Enter and Space select, because some views send a request to the server.
import { h } from "../dom";
import { type Store, viewTitles } from "../store";

/** Return the index of the tab that gets the focus by a key, or undefined if the key moves no focus. */
export function tabByKey(key: string, index: number, count: number): number | undefined {
  const targets = new Map([
    ["ArrowRight", (index + 1) % count],
    ["ArrowLeft", (index + count - 1) % count],
    ["Home", 0],
    ["End", count - 1],
  ]);
  return targets.get(key);
}

export function tabRow(store: Store): { node: HTMLElement; draw: () => void } {
  const tabs = store.views.map((view, index) => {
    const tab = h(
      "button",
      { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": "view" },
      viewTitles[view],
    );
    tab.addEventListener("click", () => store.update({ view }));
    tab.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const target = tabByKey(event.key, index, tabs.length);
      if (target === undefined) return;
      event.preventDefault();
      tabs[target]!.focus();
    });
    return tab;
  });
  const node = h("div", { role: "tablist", "aria-label": "View" }, ...tabs);
  const draw = () =>
    tabs.forEach((tab, index) => {
      const selected = store.views[index] === store.state.view;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1; // the Tab key enters the row at the selected tab
      if (selected && node.scrollWidth > node.clientWidth) node.scrollLeft = tab.offsetLeft - 60;
    });
  return { node, draw };
}
