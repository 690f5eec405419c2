// Connectionist temporal classification (CTC, Graves et al. 2006): −log of the probability of a label
// sequence, as torch.nn.functional.ctc_loss after log_softmax. The probability is the sum over all alignments
// of the labels to the frames; an alignment may contain blanks and repeated labels.
#pragma once

#include <cstdint>
#include <span>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

struct CtcOptions {
  std::int32_t blank = 0;
  // If true, divide each sequence's loss by its number of labels (at least 1), and the sum by the number of
  // sequences (PyTorch's reduction "mean"). If false, return the sum.
  bool mean = false;
  // If true, a sequence without a possible alignment has loss 0 and no gradient. If false, its loss is +∞
  // and its gradient NaN.
  bool zero_infinity = false;
  float factor = 1.0f;
};

// Return a scalar. logits: [frames of all sequences, labels]; offsets [sequences + 1]: first frame of each
// sequence; targets: the labels of all sequences, without blanks; target_offsets: [sequences + 1]. Throws
// usage if offsets do not match, invalid_input if a target is outside the labels or equal to the blank.
Var ctc_loss(Tape& tape, Var logits, std::span<const std::int32_t> offsets,
             std::span<const std::int32_t> targets, std::span<const std::int32_t> target_offsets,
             const CtcOptions& options);

}  // namespace regard::ops
