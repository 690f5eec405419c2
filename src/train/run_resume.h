// Where a run goes on, and with which of its settings changed.
#pragma once

#include <optional>
#include <vector>

#include "formats/checkpoint.h"
#include "train/run_config.h"
#include "train/run_state.h"

namespace regard::train {

constexpr const char* kStateFile = "state.json";  // in a checkpoint

// The checkpoint to go on from: the latest, or the one that the run's average was made after; none where the
// run was ended before its first. Throws as RunFolder::latest() does.
std::optional<formats::Checkpoint> place_to_resume(const formats::RunFolder& folder);

// What differs between the run's own run.toml and `config`. Throws usage naming every change that a run
// cannot take, with both values.
struct Resumption {
  std::vector<RunChange> changes;
  bool other_metric = false;  // another metric decides which checkpoint is best
};
Resumption agree_to_resume(const RunConfig& config, const formats::RunFolder& folder);

// Takes away the average that ended the run before, so that it stands as it did at `state`: latest and best
// name checkpoints of training again.
void drop_average(const formats::RunFolder& folder, const RunState& state);

}  // namespace regard::train
