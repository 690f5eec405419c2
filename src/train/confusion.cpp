#include "train/confusion.h"

#include "metrics/classification.h"

namespace regard::train {

void set_confusion(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                   const LabelSet& labels, ValidationReport& report) {
  if (labels.size() > metrics::kLargestConfusionMatrix) return;
  report.confusion.labels = labels.names();
  report.confusion.counts =
      metrics::confusion_matrix(predicted, truth, static_cast<std::int32_t>(labels.size()));
}

}  // namespace regard::train
