// state.json: the state of a run, except the weights and the moments of the optimiser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "train/run_config.h"
#include "train/trainer.h"

namespace regard::train {

struct RunState {
  std::int64_t step = 0;
  std::uint64_t seed = 1;      // seed of the run; together with `step`, it determines all random draws
  std::string isa;             // instruction set that computed the weights
  std::uint64_t data = 0;      // fingerprint of the data
  Json position;               // state of the batch source
  double seconds = 0;          // training time so far, in seconds
  double epochs = 0;           // passes over the data so far
  std::optional<double> best;  // best value so far of the metric that selects the best checkpoint
  std::int64_t best_step = 0;
  // settings that `best` depends on (run_resume.h); empty in files of earlier versions
  std::string judged_by;
  std::int64_t validations_since_best = 0;
  // steps of the last validations, ascending; the weights at these steps are averaged at the end
  std::vector<std::int64_t> validated;
  SkippedSteps skipped;  // counts of steps that did not update the weights
  // If not 0, the checkpoint is the final average, computed after the step `average_of`. A run cannot be
  // resumed from such a checkpoint.
  std::int64_t average_of = 0;

  Json to_json() const;
  static RunState from_json(const Json& json, const std::string& file);
};

// Return the setting that ends a run in this state: "max_steps", "max_epochs", "max_minutes" or "patience";
// nullopt if the run can continue.
std::optional<std::string> limit_of(const RunState& state, const RunConfig& config);

}  // namespace regard::train
