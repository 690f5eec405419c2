// Check that the encoder's output fits the batch of the decoder.
#pragma once

#include <cstdint>

#include "nn/memory.h"

namespace regard {

// Throw usage unless `memory` contains one ragged sequence for each of the decoder's `sequences`.
void check_memory(const Memory* memory, std::int64_t sequences);

}  // namespace regard
