// Search for a small set of heads whose ablation changes the model's answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "inspect/patching.h"

namespace regard::inspect {

struct FlipStep {
  Head head;
  // logit(answer) − logit(instead) with this head and the heads of all earlier steps ablated
  double difference = 0;
};
struct HeadFlip {
  double whole = 0;  // logit difference without ablation
  std::vector<FlipStep> steps;
  bool flipped = false;  // true if the difference after the last step is 0 or less: the answer has changed
  // Set if `flipped`: heads whose ablation flips the answer, found by reducing the set of `steps`. The answer
  // does not flip if one of these heads is restored, or if two of them are replaced by one other head.
  std::vector<Head> needed;
  double difference = 0;  // logit difference with the heads of `needed` ablated
};

struct FlipOptions {
  std::int64_t most = 3;  // maximum number of heads to ablate in the greedy search
  // Path of a state file; empty means none. Sets of heads in the file are not measured again. Throws usage if
  // the file belongs to another input, model or answer, or to other interventions.
  std::filesystem::path state = {};
  // Interventions of every pass, applied before the ablations. May be null.
  const EditedPass* edits = nullptr;
  // Called during the search with the completed fraction of the greedy steps. Return false to stop, which
  // throws cancelled.
  std::function<bool(double share)> progress = {};
};

// In each step, ablate the head that lowers the logit difference most, until the difference is at most 0 or
// options.most heads are ablated. Then reduce the set as long as the answer stays flipped: remove single
// heads, and replace two heads with one. This is a local search, so a smaller set may exist. Throws the
// errors of answer_difference(), and numeric if the difference without ablation is not finite.
HeadFlip flip_answer(Network& model, ThreadPool& pool, const PassInput& input, const AnswerDifference& answer,
                     const FlipOptions& options);

}  // namespace regard::inspect
