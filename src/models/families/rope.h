// Rotary positions from the keys rope_theta and rope_scaling of a configuration, or from rope_parameters
// (transformers 5 and later).
#pragma once

#include "base/namespaces.h"
#include "models/families/config_reader.h"
#include "nn/positions.h"

namespace regard::models::families {

// Return the rotary positions. Supported scalings: default (none), linear, llama3, yarn
// (transformers/modeling_rope_utils.py). Throws bad_file for other scalings, for missing or invalid values,
// and for an odd head_dim.
nn::RotaryConfig rope_of(const ConfigReader& config, std::int64_t head_dim);

}  // namespace regard::models::families
