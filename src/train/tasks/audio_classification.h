// The task "audio-classification": predict the label of a sound with an Audio Spectrogram Transformer or
// wav2vec 2.0.
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& audio_classification_traits();

}  // namespace regard::train
