// Diagram of the model: input, embedding, layers and output. Arrows have shapes; a click opens a block.
import { type Block, parametersOf, stacksOf } from "../blocks";
import { kindTitle, mostTelling } from "../capture";
import { h, s } from "../dom";
import type { Store } from "../store";

const blockWidth = 190;
const blockHeight = 30;
const gap = 18;
const between = 70;

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

function insideOf(block: Block): HTMLElement {
  const rows = (entries: readonly { name: string; shape: number[] }[]) =>
    entries.map(({ name, shape }) =>
      h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, shapeText(shape))),
    );
  const table = (title: string, entries: readonly { name: string; shape: number[] }[]) =>
    entries.length > 0 ? [h("table", {}, h("caption", {}, title), h("tbody", {}, ...rows(entries)))] : [];
  const parameters = parametersOf(block);
  return h(
    "div",
    { class: "inside-block" },
    h("h2", {}, block.label),
    h(
      "p",
      { class: "quiet" },
      `Output ${shapeText(block.shape)}${parameters > 0 ? `; ${parameters.toLocaleString("en")} parameters` : ""}.`,
    ),
    ...table("Values of this pass, [tokens, features]", block.inside),
    ...table("Weights", block.weights),
  );
}

export function drawingView(store: Store): { node: HTMLElement; draw: () => void } {
  const { capture } = store;
  const stacks = stacksOf(capture);
  const rows = Math.max(1, ...stacks.map((stack) => stack.blocks.length));
  const width = Math.max(1, stacks.length) * (blockWidth + between) - between + 2;
  const height = rows * (blockHeight + gap) + 24;
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "group",
    "aria-label": "The model",
  });
  const opened = h("div", { role: "status", "aria-live": "polite" });
  const attention: { node: SVGElement; block: Block }[] = [];
  let memory: [number, number] | undefined;
  const open = (block: Block) => {
    opened.replaceChildren(insideOf(block));
    const { kind, layer } = block;
    if (!kind) return;
    const best = mostTelling(capture.attention.filter((head) => head.kind === kind && head.layer === layer));
    if (best) store.show(best);
  };
  stacks.forEach((stack, column) => {
    const x = 1 + column * (blockWidth + between);
    svg.append(
      s("text", { x: x + blockWidth / 2, y: 12, "text-anchor": "middle", class: "head" }, stack.title),
    );
    stack.blocks.forEach((block, index) => {
      const y = height - (index + 1) * (blockHeight + gap) + gap - 1;
      if (index > 0)
        svg.append(
          s("path", { class: "flow", d: `M${x + blockWidth / 2},${y + blockHeight + gap}v${-gap}` }),
          s(
            "text",
            { x: x + blockWidth / 2 + 6, y: y + blockHeight + gap - 5, class: "shape" },
            shapeText(stack.blocks[index - 1]!.shape),
          ),
        );
      const name = block.kind ? `${kindTitle[block.kind]}, layer ${block.layer}` : block.label;
      const group = s("g", {
        class: block.kind ? "block attention" : "block",
        tabindex: 0,
        role: "button",
        "aria-label": name,
      });
      group.append(
        s("rect", { x, y, width: blockWidth, height: blockHeight, rx: 5 }),
        s("text", { x: x + blockWidth / 2, y: y + 20, "text-anchor": "middle" }, block.label),
      );
      svg.append(group);
      if (block.kind === "cross" && memory)
        svg.append(
          s("path", {
            class: "flow memory",
            d: `M${memory[0]},${memory[1]}C${memory[0] + 45},${memory[1]} ${x - 45},${y + 15} ${x},${y + 15}`,
          }),
        );
      if (block.kind) attention.push({ node: group, block });
      group.addEventListener("click", () => open(block));
      group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        open(block);
      });
      if (stack.side === "encoder" && index === stack.blocks.length - 1) memory = [x + blockWidth, y + 15];
    });
  });
  const draw = () => {
    const head = store.current();
    for (const { node, block } of attention)
      node.classList.toggle("picked", block.kind === head.kind && block.layer === head.layer);
  };
  const parameters = capture.drawing ? `${capture.drawing.parameters.toLocaleString("en")} parameters. ` : "";
  return {
    node: h(
      "details",
      { class: "drawing" },
      h("summary", {}, "The model"),
      h(
        "p",
        { class: "quiet" },
        `${parameters}Select a block to see its values and weights; an attention block also opens its most telling head.`,
      ),
      h("div", { class: "drawn" }, h("div", { class: "scroll", tabindex: 0 }, svg), opened),
    ),
    draw,
  };
}
