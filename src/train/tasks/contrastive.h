// The task "contrastive": learn similar vectors for images and the texts that describe them (CLIP, SigLIP).
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& contrastive_traits();
std::unique_ptr<Task> make_contrastive(const RunConfig& config);

}  // namespace regard::train
