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
  double share = 0.0;        // fraction of the axis to mask, where overlaps count twice; 0 disables masking
  std::int64_t length = 10;  // length of a span in frames or bins
  std::int64_t least = 0;    // minimum number of spans
};

struct SpecAugment {
  MaskedSpans frames, bins;
  bool active() const { return frames.share > 0.0 || bins.share > 0.0; }
};

// Return distinct random starts of the spans in an axis of `size`. Their number is share · size / length,
// rounded up or down at random, and at least spans.least. Empty if the axis is shorter than a span.
std::vector<std::int64_t> masked_spans(const MaskedSpans& spans, std::int64_t size, RandomStream& random);

// Set the spans of features [frames, bins] to 0. The result is a pure function of the arguments.
void spec_augment(Tensor& features, const SpecAugment& how, const RandomKey& key);

}  // namespace regard::data
