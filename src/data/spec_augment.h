// SpecAugment (Park et al. 2019) without time warping: spans of frames and of bins are set to 0. Numbers and
// places of the spans follow transformers' _compute_mask_indices, for each example by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "regard/tensor.h"

namespace regard::data {

struct MaskedSpans {
  double share = 0.0;        // of the axis, counted with overlaps; 0: no span
  std::int64_t length = 10;  // of a span
  std::int64_t least = 0;    // number of spans
};

struct SpecAugment {
  MaskedSpans frames, bins;
  bool active() const { return frames.share > 0.0 || bins.share > 0.0; }
};

// First indices of spans in an axis of `size`: share · size / length of them, rounded up or down at random,
// at different places that leave room for a span; none if the axis is shorter than a span.
std::vector<std::int64_t> masked_spans(const MaskedSpans& spans, std::int64_t size, RandomStream& random);

// Set the spans of features [frames, bins] to 0. A pure function of its arguments.
void spec_augment(Tensor& features, const SpecAugment& how, const RandomKey& key);

}  // namespace regard::data
