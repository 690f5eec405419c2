// What a decoder attends to beside itself.
#pragma once

#include "ops/tape.h"

namespace regard {

// The encoder's output, one sequence for each of the decoder's batch.
struct Memory {
  Var hidden = nullptr;  // [source tokens, hidden]
  Ragged shape;
  const std::uint8_t* attended = nullptr;  // as TokenBatch has it
};

}  // namespace regard
