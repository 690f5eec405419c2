// The confusion matrix of a validation.
#pragma once

#include <cstdint>
#include <span>

#include "train/label_set.h"
#include "train/listener.h"

namespace regard::train {

// Set report.confusion from the predicted and the true label of each example. For more labels than
// metrics::kLargestConfusionMatrix, the matrix stays empty, so that log lines stay short.
void set_confusion(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                   const LabelSet& labels, ValidationReport& report);

}  // namespace regard::train
