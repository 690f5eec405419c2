// Constants of Adam and AdamW, which Muon also uses for some weights.
#pragma once

#include "kernels/rows.h"
#include "train/optimizers/optimizer.h"

namespace regard::train {

// Return the constants of a step of Adam or AdamW, without weight decay.
kernels::AdamW adam_constants(const OptimizerOptions& options, double learning_rate, double gradient_scale,
                              std::int64_t step);

}  // namespace regard::train
