#include "kernels/pair_step.h"

#include "kernels/dispatch.h"
#include "kernels/pair_step_table.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(PairStepTable, pair_step_table)

void pair_step(const PairStep& step) {
  dispatch_pair_step_table().pair_step(step);
}

float glove_step(const GloveStep& step) {
  return dispatch_pair_step_table().glove_step(step);
}

}  // namespace regard::kernels
