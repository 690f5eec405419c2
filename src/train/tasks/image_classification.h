// The task "image-classification": predict the label of a picture.
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& image_classification_traits();
std::unique_ptr<Task> make_image_classification(const RunConfig& config);

}  // namespace regard::train
