// Rotary positions as configurations describe them: rope_theta and rope_scaling, or rope_parameters since
// transformers 5.
#pragma once

#include "models/families/config_reader.h"
#include "nn/positions.h"

namespace regard::families {

// Scalings: none, linear, llama3, yarn (transformers/modeling_rope_utils.py). Throws bad_file for every
// other, and for one that lacks a value or has one that cannot be.
nn::RotaryConfig rope_of(const ConfigReader& config, std::int64_t head_dim);

}  // namespace regard::families
