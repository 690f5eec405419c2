// The task "speech-recognition": transcribe sounds with Whisper (an encoder–decoder) or with wav2vec 2.0 and
// a CTC head.
#pragma once

#include "train/task.h"

namespace regard::train {

const TaskTraits& speech_recognition_traits();

}  // namespace regard::train
