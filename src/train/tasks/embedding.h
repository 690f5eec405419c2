// The task "embedding": vectors of texts, with similar vectors for texts of equal meaning, by encoders
// (Reimers and Gurevych 2019).
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& embedding_traits();
std::unique_ptr<Task> make_embedding(const RunConfig& config);

}  // namespace regard::train
