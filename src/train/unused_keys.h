// Keys of a run file that the run would not read.
#pragma once

#include <string>
#include <vector>

#include "train/run_config.h"

namespace regard::train {

// Why the key has no effect on this run; "" where it has one.
std::string why_unused(const RunConfig& config, const Field& field);

// The fields that have an effect; their targets are in `config`.
std::vector<Field> used_fields(RunConfig& config);

}  // namespace regard::train
