#include "kernels/ctc.h"

#include "kernels/ctc_table.h"
#include "kernels/dispatch.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(CtcTable, ctc_table)

void ctc_log_softmax(const float* logits, std::int64_t rows, std::int64_t columns, double* log_p) {
  dispatch_ctc_table().log_softmax(logits, rows, columns, log_p);
}

void ctc_step(const CtcStep& step) {
  dispatch_ctc_table().step(step);
}

void ctc_exp(const double* a, const double* b, double c, double* y, std::int64_t count) {
  dispatch_ctc_table().exp(a, b, c, y, count);
}

}  // namespace regard::kernels
