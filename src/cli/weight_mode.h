// Weight mode selected by `--quantize` and `--precision`.
#pragma once

#include "cli/verb.h"
#include "kernels/bf16.h"
#include "models/weights.h"

namespace regard::cli {

// Throws usage if `--precision bf16` is given and the processor has no bf16 instructions that are faster than
// its f32 instructions.
inline WeightMode weight_mode(const Globals& globals) {
  if (globals.bf16) kernels::require_bf16("--precision bf16");
  return globals.bf16 ? WeightMode::bf16 : globals.int8 ? WeightMode::int8 : WeightMode::stored;
}

}  // namespace regard::cli
