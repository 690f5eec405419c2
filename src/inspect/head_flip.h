// The heads that carry an answer: which ones, switched off together, turn it into another.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "inspect/patching.h"

namespace regard::inspect {

struct FlipStep {
  Head head;
  double difference = 0;  // logit(answer) − logit(instead) with all heads up to this one off
};
struct HeadFlip {
  double whole = 0;  // of the whole model
  std::vector<FlipStep> steps;
  bool flipped = false;  // the last difference is not above 0
  // If flipped: a subset of the heads in `steps` that still flips the answer when off. It is minimal: with
  // any one of its heads on again, the answer does not flip.
  std::vector<Head> needed;
  double difference = 0;  // with these off
};

// In each step switch off the head that lowers the difference most (a greedy choice), until it is not above 0
// or `most` heads are off. progress(share): return false to stop, which throws cancelled. Throws as
// answer_difference() does.
HeadFlip flip_answer(Network& model, ThreadPool& pool, const PassInput& input, const AnswerDifference& answer,
                     std::int64_t most, const std::function<bool(double share)>& progress = {});

}  // namespace regard::inspect
