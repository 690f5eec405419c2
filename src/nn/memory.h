// Input of a decoder's cross-attention.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/variable.h"

namespace regard::nn {

// The encoder's output. Without a cache, it has one sequence for each sequence of the decoder's batch. With a
// cache, it has one sequence for each selected slot whose keys and values for cross-attention are not in the
// cache yet.
struct Memory {
  Var hidden = nullptr;  // [source tokens, hidden]
  Ragged shape;
  const std::uint8_t* attended = nullptr;  // attention mask (see InputBatch::attended)
};

}  // namespace regard::nn
