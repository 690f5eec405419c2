// The task "captioning": predict the caption of an image with an image encoder and a text decoder.
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& captioning_traits();

}  // namespace regard::train
