#include "kernels/peak.h"

#include "kernels/dispatch.h"
#include "kernels/peak_table.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(PeakTable, peak_table)

std::int64_t multiply_add_in_registers(std::int64_t rounds) {
  return dispatch_peak_table().multiply_add_in_registers(rounds);
}

float sum_of(const float* x, std::int64_t count) {
  return dispatch_peak_table().sum_of(x, count);
}

}  // namespace regard::kernels
