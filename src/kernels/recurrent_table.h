// Function table of kernels/recurrent.h. Each function computes rows [begin, end) on the calling thread.
#pragma once

#include "kernels/recurrent.h"

namespace regard::kernels {

struct RecurrentTable {
  void (*forward)(const RecurrentStep& step, std::int64_t begin, std::int64_t end);
  void (*backward)(const RecurrentStepBackward& step, std::int64_t begin, std::int64_t end);
};

}  // namespace regard::kernels
