#include "inspect/sound_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "inspect/resolve.h"
#include "inspect/study_data.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

constexpr std::int64_t kMostColumns = 600;

// Counts the attention weights that a Selection contains.
class WeightCount {
 public:
  WeightCount(const ModelPoints& points, std::int64_t source, std::int64_t written)
      : points_(points), source_(source), written_(written) {}

  std::int64_t of(const Selection& selection) const {
    std::int64_t sum = 0;
    for (const auto& [place, heads] : points_.heads) {
      if (!selection.wants(place.first, place.second)) continue;
      const std::int64_t rows = place.first == Kind::encoder ? source_ : written_;
      const std::int64_t columns = place.first == Kind::decoder ? written_ : source_;
      const std::int64_t chosen =
          selection.heads.empty() ? heads : std::min(heads, std::ssize(selection.heads));
      sum += chosen * rows * columns;
    }
    return sum;
  }

 private:
  const ModelPoints& points_;
  std::int64_t source_, written_;
};

}  // namespace

Spectrogram display_spectrogram(const Tensor& frames, double frame_seconds, double seconds) {
  const std::int64_t bins = frames.columns();
  const std::int64_t count = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::ceil(seconds / frame_seconds)), 1, frames.rows());
  Spectrogram shown;
  shown.bands = bins, shown.columns = std::min(count, kMostColumns);
  shown.levels.resize(static_cast<std::size_t>(shown.bands * shown.columns));
  float low = frames.row(0)[0], high = low;
  for (std::int64_t column = 0; column < shown.columns; ++column) {
    const std::int64_t begin = column * count / shown.columns, end = (column + 1) * count / shown.columns;
    for (std::int64_t band = 0; band < bins; ++band) {
      double sum = 0;
      for (std::int64_t frame = begin; frame < end; ++frame)
        sum += static_cast<double>(frames.row(frame)[band]);
      const auto mean = static_cast<float>(sum / static_cast<double>(end - begin));
      shown.levels[static_cast<std::size_t>(band * shown.columns + column)] = mean;
      low = column + band == 0 ? mean : std::min(low, mean);
      high = column + band == 0 ? mean : std::max(high, mean);
    }
  }
  for (float& level : shown.levels) level = high > low ? (level - low) / (high - low) : 0.0f;
  return shown;
}

std::string limit_weights(Network& model, ThreadPool& pool, const ModelInput& input, std::int64_t written,
                          std::int64_t numbers, Selection& selection) {
  const ModelPoints points = ModelPoints::of(model, pool);
  const WeightCount count(points, model.input_spec().length_of(input), written);
  if (count.of(selection) <= numbers) return "";
  const bool all = selection.kinds.empty() && selection.layers.empty() && selection.heads.empty();
  std::string said;
  if (all && model.kind() == ModelKind::encoder_decoder) {
    selection.kinds = {Kind::decoder, Kind::cross};
    said =
        "The encoder's attention is left out, because it would take too much memory; select the "
        "kind encoder and a layer to show it.";
  } else if (all) {
    std::int64_t layers = 0;
    for (const auto& [place, heads] : points.heads) layers = std::max(layers, place.second + 1);
    std::int64_t first = layers - 1;
    for (selection.layers = {first}; first > 0; --first) {
      selection.layers.insert(first - 1);
      if (count.of(selection) <= numbers) continue;
      selection.layers.erase(first - 1);
      break;
    }
    said = fmt::format(
        "The attention of layers 0 to {} is left out, because it would take too much memory; select "
        "one of them to show it.",
        first - 1);
  }
  if (count.of(selection) > numbers)
    throw input_error(fmt::format("the attention weights of this {} take too much memory", input_name(model)))
        .found(counted(count.of(selection), "number"))
        .expected(fmt::format("at most {} numbers", numbers))
        .remedy(model.input_spec().kind == InputKind::features
                    ? "Select fewer layers or heads, or give a shorter sound"
                    : "Select fewer layers or heads");
  return said;
}

}  // namespace regard::inspect
