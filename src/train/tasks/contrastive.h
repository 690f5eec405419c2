// The task "contrastive": learn similar vectors for images and the texts that describe them (CLIP, SigLIP).
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& contrastive_traits();

}  // namespace regard::train
