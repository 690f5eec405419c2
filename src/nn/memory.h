// Input of a decoder's cross-attention.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/variable.h"

namespace regard::nn {

// The encoder's output, with one sequence for each sequence of the decoder's batch or, with a cache, for each
// selected slot without cross-attention.
struct Memory {
  Var hidden = nullptr;  // [source tokens, hidden]
  Ragged shape;
  const std::uint8_t* attended = nullptr;  // tokens that may be attended to (see InputBatch::attended)
};

}  // namespace regard::nn
