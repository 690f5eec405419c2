// The task "classification": predict a label, several labels or a number for a text or a pair of texts, with
// an encoder.
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& classification_traits();
std::unique_ptr<Task> make_classification(const RunConfig& config);

}  // namespace regard::train
