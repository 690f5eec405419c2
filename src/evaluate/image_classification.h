// Classification of images with one label each.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Evaluate a classifier of images.
//   Metrics: as for classification() with one label (evaluate/classification.h).
//   Data: images with labels; see read_pictures() in evaluate/picture_data.h. A label is the name or the
//     number of a class.
// Throws invalid_input with file and row for an unknown label.
Evaluation image_classification(const Subject& subject, const DataOptions& data);

}  // namespace regard::evaluate
