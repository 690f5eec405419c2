#include "data/picture_preview.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace regard::data {
namespace {

constexpr std::string_view kShades = " .:-=+*#%@";

// Return the mean of a block of pixels over all channels.
float mean_of(const Tensor& pixels, std::int64_t top, std::int64_t bottom, std::int64_t left,
              std::int64_t right) {
  const Shape& shape = pixels.shape();
  float sum = 0;
  for (std::int64_t channel = 0; channel < shape[1]; ++channel)
    for (std::int64_t y = top; y < bottom; ++y)
      for (std::int64_t x = left; x < right; ++x)
        sum += pixels.f32()[(channel * shape[2] + y) * shape[3] + x];
  return sum / static_cast<float>(shape[1] * (bottom - top) * (right - left));
}

}  // namespace

std::string picture_preview(const Tensor& pixels, std::int64_t columns) {
  const std::int64_t height = pixels.shape()[2], width = pixels.shape()[3];
  const std::int64_t across = std::min(columns, width);
  const std::int64_t down = std::max<std::int64_t>(height * across / width / 2, 1);
  std::vector<float> cells;
  for (std::int64_t row = 0; row < down; ++row)
    for (std::int64_t column = 0; column < across; ++column)
      cells.push_back(mean_of(pixels, row * height / down, (row + 1) * height / down, column * width / across,
                              (column + 1) * width / across));
  const auto [low, high] = std::minmax_element(cells.begin(), cells.end());
  const float range = *high - *low;
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const float share = range > 0.0f ? (cells[i] - *low) / range : 0.0f;
    const auto shade = static_cast<std::size_t>(share * static_cast<float>(kShades.size() - 1) + 0.5f);
    text += kShades[std::min(shade, kShades.size() - 1)];
    if ((i + 1) % static_cast<std::size_t>(across) != 0) continue;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

}  // namespace regard::data
