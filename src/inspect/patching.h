// Activation patching between two inputs (Vig et al. 2020; Meng et al. 2022; Wang et al. 2023): find the
// components that change the answer for one input if their values are taken from the run on another input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "inspect/resolve.h"
#include "inspect/study_data.h"

namespace regard::inspect {

// The measured quantity: logit(answer) − logit(instead) at one position of the decoder. For classifiers, both
// are classes, and `position` is 0.
struct AnswerDifference {
  // Value of `answer` that selects the token or class with the highest logit, except `instead`.
  // answer_difference() finds this token or class.
  static constexpr std::int32_t kStrongest = -1;

  std::int64_t position = 0;
  std::int32_t answer = 0, instead = 0;
};

struct PatchEffect {
  // name of the component, such as "decoder.0.3", "decoder.0.feed_forward" or "decoder.1.residual"
  std::string component;
  std::optional<Head> head;
  std::int64_t position = -1;  // position of the residual; −1 means all positions
  double difference = 0;       // logit difference of the corrupted run with the component patched
  // (difference − corrupted) / (clean − corrupted): 0 means equal to the corrupted run, 1 equal to the clean
  // run
  double effect = 0;
};

struct PatchResult {
  double clean = 0, corrupted = 0;  // logit difference in each of the two runs
  std::vector<PatchEffect> effects;
};

enum class PatchMode : std::uint8_t {
  // Patch the component with its clean value, and compute everything after it.
  total,
  // Path patching to the output: the heads and feed-forward layers after the component keep their corrupted
  // values, so that only the path through the residual stream has an effect.
  direct,
};

struct PatchOptions {
  PatchMode mode = PatchMode::total;
  // Path of a state file; empty means none. Components in the file are not measured again. Throws usage if
  // the file belongs to other inputs, another model or other options.
  std::filesystem::path state = {};
  // Interventions applied in every pass, including the clean run, before the patch; may be null.
  const EditedPass* edits = nullptr;
  // Called after each component with the completed fraction of the work. Return false to stop, which throws
  // cancelled.
  std::function<bool(double share)> progress = {};
};

// Patch the output of each head (all positions), each feed-forward layer (all positions), and, with `total`,
// the residual after each layer at each position. Throws usage if the two inputs have different lengths,
// numeric if the logit difference of an input is not finite, and the errors of answer_difference()
// (answer_pass.h).
PatchResult patch_components(Network& model, ThreadPool& pool, const PassInput& clean,
                             const PassInput& corrupted, const AnswerDifference& answer,
                             const PatchOptions& options = {});

// text_of() and hash_of() return texts that identify the answer and the input in a state file.
std::string text_of(const AnswerDifference& answer);
std::string hash_of(const PassInput& input);

}  // namespace regard::inspect
