// Inner loops of the CTC loss, in double. All functions run on the calling thread.
#pragma once

#include <cstdint>

namespace regard::kernels {

// Compute log_p = log softmax of each row of logits [rows, columns]. All results of a row are NaN if it
// contains NaN or +∞, or if all its logits are −∞.
void ctc_log_softmax(const float* logits, std::int64_t rows, std::int64_t columns, double* log_p);

// One step of the forward or backward recursion over all states:
//   sums[s] = log(exp(a[s]) + exp(b[s]) + exp(c[s] + skip[s])),   to[s] = sums[s] + emission[s].
// No input may be NaN or +∞, and `to` must not overlap the inputs; `sums` may be null.
struct CtcStep {
  std::int64_t states = 0;
  const double *a = nullptr, *b = nullptr, *c = nullptr, *skip = nullptr, *emission = nullptr;
  double *sums = nullptr, *to = nullptr;
};
void ctc_step(const CtcStep& step);

// Compute y[i] = exp(a[i] + b[i] + c); a[i] + b[i] may be −∞. b may be null, which means 0.
void ctc_exp(const double* a, const double* b, double c, double* y, std::int64_t count);

}  // namespace regard::kernels
