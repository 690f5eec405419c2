// Searches for a set of heads whose ablation changes the model's answer to another one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "inspect/patching.h"

namespace regard::inspect {

struct FlipStep {
  Head head;
  // logit(answer) − logit(instead) with this head and those of all earlier steps ablated
  double difference = 0;
};
struct HeadFlip {
  double whole = 0;  // logit difference of the unmodified model
  std::vector<FlipStep> steps;
  bool flipped = false;  // true if the last difference is 0 or less: the answer has changed
  // Set if `flipped`: heads whose ablation flips the answer, found by reducing the set of `steps`. The answer
  // does not flip if one of these heads is restored, or if two of them are replaced by one other head.
  std::vector<Head> needed;
  double difference = 0;  // logit difference with the heads of `needed` ablated
};

// In each step, ablate the head that lowers the difference most (a greedy choice), until the difference is
// not above 0 or `most` heads are ablated. Then remove heads that are not needed and replace two heads with
// one as long as the answer stays flipped (a local search: a smaller set may exist). progress(share) may
// return false to stop; flip_answer() then throws cancelled. Throws the errors of answer_difference().
HeadFlip flip_answer(Network& model, ThreadPool& pool, const PassInput& input, const AnswerDifference& answer,
                     std::int64_t most, const std::function<bool(double share)>& progress = {});

}  // namespace regard::inspect
