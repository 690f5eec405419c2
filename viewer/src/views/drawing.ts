// The model as a drawing: tokens, embedding, layers and output, with shapes. Attention blocks select heads.
import { type Capture, headKey, type Kind, kindTitle } from "../capture";
import { h, s } from "../dom";
import type { Store } from "../store";

const blockWidth = 200;
const blockHeight = 30;
const gap = 16;

interface Block {
  label: string;
  shape?: string;
  kind?: Kind;
  layer?: number;
}

function layersOf(capture: Capture, kind: Kind): number[] {
  return [...new Set(capture.attention.filter((head) => head.kind === kind).map((head) => head.layer))].sort(
    (a, b) => a - b,
  );
}

/** The blocks of one side, bottom up. */
function sideBlocks(capture: Capture, side: "encoder" | "decoder"): Block[] {
  const tokens = (side === "encoder" ? capture.source_tokens : capture.target_tokens)?.length ?? 0;
  const hidden = capture.shape?.hidden;
  const shape = hidden ? `[${tokens}, ${hidden}]` : `[${tokens}]`;
  const blocks: Block[] = [{ label: `${tokens} tokens` }, { label: "embedding + positions", shape }];
  for (const layer of layersOf(capture, side)) {
    blocks.push({ label: `self-attention ${layer}`, shape, kind: side, layer });
    if (side === "decoder" && layersOf(capture, "cross").includes(layer))
      blocks.push({ label: `cross-attention ${layer}`, shape, kind: "cross", layer });
    blocks.push({ label: `feed-forward ${layer}`, shape });
  }
  if (side === "decoder" && capture.shape)
    blocks.push({ label: "logits → softmax", shape: `[${tokens}, ${capture.shape.vocabulary}]` });
  return blocks;
}

export function drawingView(store: Store): { node: HTMLElement; draw: () => void } {
  const capture = store.capture;
  const sides = (["encoder", "decoder"] as const).filter((side) => layersOf(capture, side).length > 0);
  const stacks = sides.map((side) => sideBlocks(capture, side));
  const rows = Math.max(...stacks.map((stack) => stack.length));
  const width = stacks.length * (blockWidth + 90) - 90 + 2;
  const height = rows * (blockHeight + gap) + 24;
  const svg = s("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "group",
    "aria-label": "The model",
  });
  const attention: { node: SVGElement; kind: Kind; layer: number }[] = [];
  let memory: [number, number] | undefined;
  stacks.forEach((stack, column) => {
    const x = 1 + column * (blockWidth + 90);
    svg.append(
      s("text", { x: x + blockWidth / 2, y: 12, "text-anchor": "middle", class: "head" }, sides[column]!),
    );
    stack.forEach((block, index) => {
      const y = height - (index + 1) * (blockHeight + gap) + gap - 1;
      if (index > 0) {
        svg.append(
          s("path", { class: "flow", d: `M${x + blockWidth / 2},${y + blockHeight + gap}v${-gap}` }),
        );
        if (block.shape)
          svg.append(
            s(
              "text",
              { x: x + blockWidth / 2 + 6, y: y + blockHeight + gap - 4, class: "shape" },
              block.shape,
            ),
          );
      }
      const group = s(
        "g",
        block.kind
          ? {
              class: "block attention",
              tabindex: 0,
              role: "button",
              "aria-label": `${kindTitle[block.kind]}, layer ${block.layer}`,
            }
          : { class: "block" },
      );
      group.append(
        s("rect", { x, y, width: blockWidth, height: blockHeight, rx: 5 }),
        s("text", { x: x + blockWidth / 2, y: y + 20, "text-anchor": "middle" }, block.label),
      );
      svg.append(group);
      if (block.kind === "cross" && memory)
        svg.append(
          s("path", {
            class: "flow memory",
            d: `M${memory[0]},${memory[1]}C${memory[0] + 60},${memory[1]} ${x - 60},${y + 15} ${x},${y + 15}`,
          }),
        );
      if (block.kind) {
        const { kind, layer } = block;
        attention.push({ node: group, kind, layer: layer! });
        const pick = () => {
          const same = capture.attention.filter((head) => head.kind === kind && head.layer === layer);
          const best = same.reduce((a, b) => ((b.telling ?? 0) > (a.telling ?? 0) ? b : a));
          store.update({ head: headKey(best) });
        };
        group.addEventListener("click", pick);
        group.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            event.stopPropagation();
            pick();
          }
        });
      }
      if (sides[column] === "encoder" && index === stack.length - 1) memory = [x + blockWidth, y + 15];
    });
  });
  const draw = () => {
    const head = store.current();
    for (const block of attention)
      block.node.classList.toggle("picked", block.kind === head.kind && block.layer === head.layer);
  };
  const parameters = capture.shape ? `${capture.shape.parameters.toLocaleString("en")} parameters. ` : "";
  return {
    node: h(
      "details",
      { class: "drawing" },
      h("summary", {}, "The model"),
      h("p", { class: "quiet" }, `${parameters}Select an attention block to open its most telling head.`),
      h("div", { class: "scroll", tabindex: 0 }, svg),
    ),
    draw,
  };
}
