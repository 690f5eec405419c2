// The task "captioning": predict the caption of an image with an image encoder and a text decoder.
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& captioning_traits();
std::unique_ptr<Task> make_captioning(const RunConfig& config);

}  // namespace regard::train
