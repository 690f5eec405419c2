// Function table of the CTC loss (kernels/ctc.h).
#pragma once

#include "kernels/ctc.h"

namespace regard::kernels {

struct CtcTable {
  void (*log_softmax)(const float* logits, std::int64_t rows, std::int64_t columns, double* log_p);
  void (*step)(const CtcStep& step);
  void (*exp)(const double* a, const double* b, double c, double* y, std::int64_t count);
};

}  // namespace regard::kernels
