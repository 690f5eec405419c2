// The list "Save…": the formats in which the capture or the shown head can be saved.
import { h } from "../dom";
import { canSave, formats, saveAs } from "../exports";
import type { Store } from "../store";
import { thumbnailOnly } from "../weights";

export function saveMenu(store: Store): { node: HTMLElement; draw: () => void } {
  const options = formats.map((format) => h("option", { value: format }));
  const node = h("select", { "aria-label": "Save as" }, h("option", { value: "" }, "Save…"), ...options);
  node.addEventListener("change", () => {
    const format = formats.find((each) => each === node.value);
    if (format) saveAs(store, format);
    node.value = "";
  });
  const draw = () => {
    options.forEach((option, i) => {
      const format = formats[i]!;
      option.disabled = !canSave(store, format);
      option.textContent = `${format.toUpperCase()}${option.disabled ? " (no weights)" : ""}`;
    });
    node.title = options.some((option) => option.disabled) ? thumbnailOnly : "";
  };
  return { node, draw };
}
