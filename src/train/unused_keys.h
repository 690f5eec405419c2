// Keys of a run file that have no effect on the run.
#pragma once

#include <string>
#include <vector>

#include "train/run_config.h"

namespace regard::train {

// Return the reason why the key has no effect on this run, or "" if it has an effect.
std::string why_unused(const RunConfig& config, const Field& field);

// Return the fields whose keys have an effect on the run. Field::target points into `config`.
std::vector<Field> used_fields(RunConfig& config);

}  // namespace regard::train
