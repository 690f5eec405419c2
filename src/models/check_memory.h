// Check that the encoder's output contains one sequence for each sequence of the decoder's batch.
#pragma once

#include <cstdint>

#include "base/namespaces.h"
#include "nn/memory.h"

namespace regard::models {

// Throw usage unless `memory` contains the encoder's output for exactly `sequences` sequences.
void check_memory(const Memory* memory, std::int64_t sequences);

}  // namespace regard::models
