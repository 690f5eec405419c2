// Layer norm (Ba, Kiros, Hinton 2016) and RMS norm (Zhang and Sennrich 2019) over the last dimension.
#pragma once

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::ops {

struct NormOptions {
  float epsilon = 1e-5f;
  bool rms = false;
  float gain_offset = 0.0f;  // constant added to the gain; Gemma multiplies by (1 + gain)
  bool store_bf16 = false;   // store the result as bf16 (bf16_store.h)
};

// Return norm(x). x: [rows, features], contiguous; gain, bias: [features] or null. Throws usage if RMS norm
// has a bias.
Var norm(Tape& tape, Var x, Var gain, Var bias, const NormOptions& options = {});

}  // namespace regard::ops
