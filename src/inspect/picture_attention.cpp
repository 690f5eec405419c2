#include "inspect/picture_attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/encode_png.h"
#include "inspect/heat_map.h"
#include "inspect/rollout.h"
#include "inspect/svg.h"
#include "text/base64.h"

namespace regard::inspect {
namespace {

constexpr double kTile = 272, kTileGap = 16, kTileTitle = 24, kBorder = 16;
constexpr std::size_t kTilesInRow = 4;
constexpr std::int64_t kLongestShown = 224;  // maximum side length of a displayed image in pixels
constexpr double kDarkest = 0.85;            // opacity of the overlay on a patch with weight 0

std::size_t patches_of(const InputSpec& spec) {
  return static_cast<std::size_t>(spec.patch_rows * spec.patch_columns);
}

// Return the attention weights of the patches from `row` [tokens], one row of the attention matrix.
std::vector<float> without_specials(const float* row, const InputSpec& spec) {
  return {row + spec.specials, row + spec.specials + patches_of(spec)};
}

// Return the attention weights [patches] of the class token's row or, if there are no special tokens, the
// mean over all rows.
std::vector<float> of_image(const std::vector<float>& weights, const InputSpec& spec) {
  if (spec.specials > 0) return without_specials(weights.data(), spec);
  const std::size_t tokens = patches_of(spec), rows = weights.size() / tokens;
  std::vector<float> mean(tokens, 0.0f);
  for (std::size_t i = 0; i < weights.size(); ++i) mean[i % tokens] += weights[i] / static_cast<float>(rows);
  return mean;
}

void draw_tile(SvgWriter& svg, std::string& overlay, const PatchWeights& map, const InputSpec& spec, double x,
               double y) {
  svg.text(x, y + kTileTitle - 8, shortened(map.title, 38), "label");
  const double top = y + kTileTitle, width = kTile / static_cast<double>(spec.patch_columns),
               height = kTile / static_cast<double>(spec.patch_rows);
  overlay += fmt::format("<use href=\"#picture\" x=\"{:.1f}\" y=\"{:.1f}\"/>\n", x, top);
  const float most = *std::max_element(map.weights.begin(), map.weights.end());
  for (std::size_t i = 0; i < map.weights.size(); ++i) {
    const auto patch = static_cast<std::int64_t>(i);
    const std::int64_t row = patch / spec.patch_columns, column = patch % spec.patch_columns;
    const double share = most > 0.0f ? static_cast<double>(map.weights[i] / most) : 0.0;
    overlay += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#000\" "
        "fill-opacity=\"{:.3f}\">"
        "<title>{:.4f}</title></rect>\n",
        x + static_cast<double>(column) * width, top + static_cast<double>(row) * height, width, height,
        kDarkest * (1.0 - share), map.weights[i]);
  }
}

}  // namespace

std::vector<PatchWeights> patch_weights(const View& view, const Map& map, const InputSpec& spec) {
  if (map.head.kind == Kind::encoder) return {{map.title(), of_image(map.weights, spec)}};
  std::vector<PatchWeights> all;
  if (map.head.kind != Kind::cross) return all;
  for (std::int64_t row = 0; row < map.rows; ++row)
    all.push_back({view.row_labels(map)[static_cast<std::size_t>(row)],
                   without_specials(map.weights.data() + row * map.columns, spec)});
  return all;
}

PatchWeights rollout_weights(const View& view, const InputSpec& spec) {
  return {"attention rollout", of_image(attention_rollout(view.maps), spec)};
}

std::string picture_svg(const data::Image& picture, const std::vector<PatchWeights>& maps,
                        const InputSpec& spec, const std::string& title) {
  SvgWriter svg;
  std::string overlay = fmt::format(
      "<defs><image id=\"picture\" width=\"{0}\" height=\"{0}\" preserveAspectRatio=\"none\" "
      "href=\"data:image/png;base64,{1}\"/></defs>\n",
      kTile, text::encode_base64(data::encode_png(picture)));
  const std::size_t across = std::min(kTilesInRow, std::max<std::size_t>(maps.size(), 1));
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::size_t row = i / across, column = i % across;
    draw_tile(svg, overlay, maps[i], spec, kBorder + static_cast<double>(column) * (kTile + kTileGap),
              kBorder + static_cast<double>(row) * (kTile + kTileTitle + kTileGap));
  }
  const std::size_t down = (maps.size() + across - 1) / across;
  std::string document = svg.document(
      2 * kBorder + static_cast<double>(across) * (kTile + kTileGap) - kTileGap,
      2 * kBorder + static_cast<double>(down) * (kTile + kTileTitle + kTileGap) - kTileGap, title);
  return document.insert(document.rfind("</svg>"), overlay);
}

Picture display_picture(const data::Image& picture) {
  const std::int64_t step = std::max<std::int64_t>(
      1, (std::max(picture.height, picture.width) + kLongestShown - 1) / kLongestShown);
  data::Image small;
  small.height = std::max<std::int64_t>(1, picture.height / step);
  small.width = std::max<std::int64_t>(1, picture.width / step);
  small.pixels.resize(static_cast<std::size_t>(small.height * small.width * 3));
  for (std::int64_t y = 0; y < small.height; ++y)
    for (std::int64_t x = 0; x < small.width; ++x)
      for (std::int64_t colour = 0; colour < 3; ++colour) {
        std::int64_t sum = 0, count = 0;
        for (std::int64_t dy = 0; dy < step && y * step + dy < picture.height; ++dy)
          for (std::int64_t dx = 0; dx < step && x * step + dx < picture.width; ++dx, ++count)
            sum += picture.at(y * step + dy, x * step + dx)[colour];
        small.pixels[static_cast<std::size_t>((y * small.width + x) * 3 + colour)] =
            static_cast<std::uint8_t>(sum / count);
      }
  return {small.width, small.height, data::encode_png(small)};
}

}  // namespace regard::inspect
