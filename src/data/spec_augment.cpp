#include "data/spec_augment.h"

#include <algorithm>
#include <numeric>

#include "base/shuffle.h"

namespace regard::data {

std::vector<std::int64_t> masked_spans(const MaskedSpans& spans, std::int64_t size, RandomStream& random) {
  const double rounding = static_cast<double>(random.next_uniform());
  if (spans.share <= 0.0 || spans.length < 1 || spans.length > size) return {};
  const double wanted = spans.share * static_cast<double>(size) / static_cast<double>(spans.length);
  const std::int64_t places = size - (spans.length - 1);
  std::int64_t count = std::max(static_cast<std::int64_t>(wanted + rounding), spans.least);
  count = std::min({count, size / spans.length, places});
  std::vector<std::int64_t> starts(static_cast<std::size_t>(places));
  std::iota(starts.begin(), starts.end(), std::int64_t{0});
  shuffle(starts, random);
  starts.resize(static_cast<std::size_t>(count));
  return starts;
}

void spec_augment(Tensor& features, const SpecAugment& how, const RandomKey& key) {
  if (!how.active()) return;
  RandomStream random(key);
  for (const std::int64_t start : masked_spans(how.frames, features.rows(), random))
    for (std::int64_t frame = start; frame < start + how.frames.length; ++frame)
      std::fill_n(features.row(frame), features.columns(), 0.0f);
  for (const std::int64_t start : masked_spans(how.bins, features.columns(), random))
    for (std::int64_t frame = 0; frame < features.rows(); ++frame)
      std::fill_n(features.row(frame) + start, how.bins.length, 0.0f);
}

}  // namespace regard::data
