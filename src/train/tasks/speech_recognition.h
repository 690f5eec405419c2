// Task "speech-recognition": the text of a sound, with Whisper (an encoder–decoder) or wav2vec 2.0 with a CTC
// head.
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

const TaskTraits& speech_recognition_traits();
std::unique_ptr<Task> make_speech_recognition(const RunConfig& config);

}  // namespace regard::train
