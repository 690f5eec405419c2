// The view "Picture": the weights of one query over the grid of patches. A picture in the capture is darkened where
// the weight is low.
import { rowTokens } from "../capture";
import { textOn } from "../colour";
import { css, h, percent, redraw, s } from "../dom";
import type { Store } from "../store";
import { drawnWeights, scaleMaximum, thumbnailOnly } from "../weights";

const darkest = 0.85; // opacity over a patch of weight 0

export function pictureView(store: Store): { node: HTMLElement; draw: () => void } {
  const node = h("div", { class: "picture" });
  const draw = () => {
    const patches = store.capture.drawing?.patches;
    if (store.state.view !== "picture" || !patches) return;
    const head = store.current();
    const weights = drawnWeights(store);
    if (!weights) return node.replaceChildren(h("p", { class: "note" }, thumbnailOnly));
    const columns = weights[0]?.length ?? 0;
    if (columns !== patches.specials + patches.rows * patches.columns)
      return node.replaceChildren(
        h(
          "p",
          { class: "note" },
          "The keys of this head are tokens, not patches. Select a head of the encoder or of cross-attention below.",
        ),
      );
    const names = rowTokens(store.capture, head);
    const row = Math.max(0, Math.min(store.state.row, names.length - 1));
    const { picture } = store.capture;
    const cell = Math.max(
      10,
      Math.min(picture ? 96 : 64, Math.floor(520 / Math.max(patches.rows, patches.columns))),
    );
    const shown = weights[row]!;
    const onPatches = shown.slice(patches.specials);
    // With hundreds of patches each weight is small, so a scale from 0 to 100 % would make the whole picture black.
    const maximum =
      picture || store.state.rescale ? Math.max(1e-12, ...onPatches) : scaleMaximum(store, weights);
    const [width, height] = [patches.columns * cell, patches.rows * cell];
    const svg = s("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": "Attention over the picture",
    });
    if (picture)
      svg.append(
        s("image", {
          href: `data:image/png;base64,${picture.png}`,
          width,
          height,
          preserveAspectRatio: "none",
        }),
      );
    const palette = {
      ink: css("--ink"),
      paper: css("--paper"),
      accent: css("--accent"),
      onAccent: css("--on-accent"),
    };
    const opacity = (share: number) => (picture ? darkest * (1 - share) : 0.04 + 0.96 * share);
    for (let r = 0; r < patches.rows; ++r)
      for (let c = 0; c < patches.columns; ++c) {
        const weight = shown[patches.specials + r * patches.columns + c]!;
        svg.append(
          s(
            "rect",
            {
              class: picture ? "patch shade" : "patch",
              x: c * cell,
              y: r * cell,
              width: picture ? cell : cell - 1,
              height: picture ? cell : cell - 1,
              "fill-opacity": opacity(Math.min(1, weight / maximum)).toFixed(3),
            },
            s("title", {}, `row ${r}, column ${c}: ${(100 * weight).toFixed(2)} %`),
          ),
        );
        if (cell >= 30 && !picture)
          svg.append(
            s(
              "text",
              {
                x: (c + 0.5) * cell,
                y: (r + 0.5) * cell + 4,
                "text-anchor": "middle",
                style: `font-size: 11px; fill: ${textOn(opacity(Math.min(1, weight / maximum)), palette)}`,
              },
              percent(weight),
            ),
          );
      }
    const chooser = h(
      "select",
      { "aria-label": "Query" },
      ...names.map((name, i) => h("option", { value: i, ...(i === row ? { selected: true } : {}) }, name)),
    );
    chooser.addEventListener("change", () => store.update({ row: Number(chooser.value) }));
    const special = shown.slice(0, patches.specials).reduce((sum, weight) => sum + weight, 0);
    redraw(
      node,
      h("p", {}, "Attention of ", chooser, " over the patches of the picture, percent."),
      svg,
      h(
        "p",
        { class: "quiet" },
        `${picture ? `Unshaded patches have ${(100 * maximum).toFixed(1)} %, the largest weight. ` : ""}Special tokens before the patches: ${(100 * special).toFixed(1)} %.`,
      ),
    );
  };
  return { node, draw };
}
