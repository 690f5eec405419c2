// The task "image-classification": predict the label of an image.
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& image_classification_traits();
std::unique_ptr<Task> make_image_classification(const RunConfig& config);

}  // namespace regard::train
