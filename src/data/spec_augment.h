// SpecAugment (Park et al. 2019) without time warping: spans of frames and of bins are set to 0. The number
// and the positions of the spans are drawn as in transformers' _compute_mask_indices, separately for each
// example.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "regard/tensor.h"

namespace regard::data {

struct MaskedSpans {
  // total length of the spans / length of the axis; spans may overlap; 0 disables masking
  double share = 0.0;
  std::int64_t length = 10;  // length of a span in frames or bins
  std::int64_t least = 0;    // minimum number of spans
};

struct SpecAugment {
  MaskedSpans frames, bins;
  bool active() const { return frames.share > 0.0 || bins.share > 0.0; }
};

// Return the starts of the spans on an axis of `size` elements, as distinct random indices. Their number is
// share · size / length, rounded up or down at random, then limited to [spans.least, size / length]. The list
// is empty if the axis is shorter than a span.
std::vector<std::int64_t> masked_spans(const MaskedSpans& spans, std::int64_t size, RandomStream& random);

// Draw spans of frames and of bins at random, and set them to 0 in features [frames, bins]. The result is a
// pure function of the arguments.
void spec_augment(Tensor& features, const SpecAugment& how, const RandomKey& key);

}  // namespace regard::data
