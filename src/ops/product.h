// Matrix products in f32 or bf16, as the tape's precision says. For operations such as linear layers.
#pragma once

#include "kernels/bf16.h"
#include "ops/tape.h"

namespace regard::ops {

inline void product(Tape& tape, const kernels::Gemm& problem) {
  if (tape.options().precision == kernels::Precision::bf16 && problem.packed == nullptr)
    kernels::gemm_bf16(tape.pool(), problem);
  else
    kernels::gemm(tape.pool(), problem);
}

}  // namespace regard::ops
