// Function table of kernels/class_blocks.h. Each function processes rows [begin, end) on the calling thread.
#pragma once

#include "kernels/class_blocks.h"

namespace regard::kernels {

struct ClassBlocksTable {
  void (*summarise)(const BlockedLogits& problem, const LogitsTile& tile);
  void (*finish)(const BlockedLogits& problem, std::int64_t begin, std::int64_t end);
};

}  // namespace regard::kernels
