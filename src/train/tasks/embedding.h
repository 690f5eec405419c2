// The task "embedding": train an encoder to compute vectors of texts, so that texts of similar meaning have
// similar vectors (Reimers and Gurevych 2019).
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& embedding_traits();

}  // namespace regard::train
