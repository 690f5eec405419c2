// The task "contrastive": pictures and texts as vectors that are near if they belong together (CLIP, SigLIP).
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& contrastive_traits();
std::unique_ptr<Task> make_contrastive(const RunConfig& config);

}  // namespace regard::train
