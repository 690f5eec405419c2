// The task "image-classification": predict the label of an image.
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& image_classification_traits();

}  // namespace regard::train
