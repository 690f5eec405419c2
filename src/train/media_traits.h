// Properties shared by the tasks that read images or sounds. Their data are tables with the path of a file
// and its label or text.
#pragma once

#include "train/task.h"

namespace regard::train {

// Return `traits` extended by the keys and --new settings that all tasks of images share.
TaskTraits picture_traits(TaskTraits traits);
// Return `traits` extended by the keys and --new settings that all tasks of sounds share. Sets has_text to
// false, because these tasks do not use Tokenizers, and TaskTraits::labels to "labels".
TaskTraits sound_traits(TaskTraits traits);

}  // namespace regard::train
