// Function table of kernels/pair_step.h.
#pragma once

#include "kernels/pair_step.h"

namespace regard::kernels {

struct PairStepTable {
  void (*pair_step)(const PairStep& step);
  float (*glove_step)(const GloveStep& step);
};

}  // namespace regard::kernels
