// The task "classification": predict a label, several labels or a number for a text or a pair of texts, with
// an encoder.
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& classification_traits();

}  // namespace regard::train
