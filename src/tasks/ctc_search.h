// Decodes the frame-wise logits of a CTC model (Graves et al. 2006) to a label sequence: best path, or prefix
// beam search.
#pragma once

#include <cstdint>
#include <vector>

#include "regard/tensor.h"

namespace regard::tasks {

struct CtcLabel {
  std::int32_t label = 0;
  // Frames of the label's first and last occurrence on the path. In a beam search, `first` is the frame at
  // which the search added the label.
  std::int64_t first = 0, last = 0;
};

// Return the most probable label of each frame, with repetitions merged and blanks removed.
std::vector<CtcLabel> ctc_best_path(const Tensor& logits, std::int32_t blank);

// A label sequence with its score.
struct CtcHypothesis {
  std::vector<CtcLabel> labels;
  // log-probability of the sequence, summed over the alignments that the beam kept
  double log_probability = 0.0;
};
// Return the most probable label sequence by prefix beam search with beam width `width` (Hannun et al. 2014,
// algorithm 1, without a language model). log_p [frames, labels] contains log-probabilities.
CtcHypothesis ctc_beam_search(const Tensor& log_p, std::int32_t blank, std::int64_t width);

// Compute the log softmax of each row, in place.
void to_log_probabilities(Tensor& logits);

}  // namespace regard::tasks
