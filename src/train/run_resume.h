// Resuming a run: the checkpoint from which it continues, and the settings that changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/checkpoint.h"
#include "train/run_config.h"
#include "train/run_state.h"

namespace regard::train {

constexpr const char* kStateFile = "state.json";  // name of the state file in a checkpoint

// Return the latest checkpoint of training, from which a run resumes; the final average is skipped. Returns
// nullopt if the run has no checkpoint yet. Throws as RunFolder::latest() does.
std::optional<formats::Checkpoint> place_to_resume(const formats::RunFolder& folder);

// Differences between the saved run.toml of a run and the configuration with which it is resumed.
struct Resumption {
  std::vector<RunChange> changes;
  // true if the metric that selects the best checkpoint or one of the metric's settings changed
  bool other_metric = false;
};
// Compare `config` with the run.toml in `folder`. Throws usage if a key has changed that a resumed run cannot
// change; the message lists all such keys with both values.
Resumption agree_to_resume(const RunConfig& config, const formats::RunFolder& folder);

// Return the metric that selects the best checkpoint, and the decoding settings on which its value depends,
// as text. Values of the metric are comparable only if these texts are equal.
std::string judged_by(const RunConfig& config);

// Return the effect of a changed setting on the results of a resumed run, as a clause such as "the weights
// differ from this step on". `config` is the configuration of the resumed run.
std::string effect_of(const RunChange& change, const RunConfig& config);

// Throws usage if 'training.max_steps' is less than the step of the checkpoint.
void check_steps_left(const RunConfig& config, const formats::Checkpoint& checkpoint);

// Remove the checkpoint with averaged weights that was written at the end of a run. The links latest and best
// then point to checkpoints that were written during training.
void drop_average(const formats::RunFolder& folder, const RunState& state);

}  // namespace regard::train
