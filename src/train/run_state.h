// state.json: the state of a run, except its weights and the optimiser's moments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "train/trainer.h"

namespace regard::train {

struct RunState {
  std::int64_t step = 0;
  std::uint64_t seed = 1;      // with `step`, the complete state of the random draws
  std::string isa;             // instruction set that computed the weights
  std::uint64_t data = 0;      // fingerprint of the data
  Json position;               // state of the batch source
  double seconds = 0;          // training time so far
  std::optional<double> best;  // value of the best metric so far
  std::int64_t best_step = 0;
  std::int64_t validations_since_best = 0;
  std::vector<std::int64_t> validated;  // steps of the last validations, ascending; to be averaged
  SkippedSteps skipped;                 // steps without an update
  std::int64_t average_of = 0;          // not 0: the final average after this step; cannot be resumed

  Json to_json() const;
  static RunState from_json(const Json& json, const std::string& file);
};

}  // namespace regard::train
