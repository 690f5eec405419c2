// Evaluation of models that read sound: classification and transcription.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Data: a table with the columns path, relative to the table's folder, and label. Metrics: those for one
// label in evaluate/classification.h. Throws as data::SoundStream does, with the row, and invalid_input for
// an unknown label.
Evaluation audio_classification(const Subject& subject, const std::filesystem::path& folder,
                                const DataOptions& data);

// Data: a table with the columns path and text. Whisper decodes without timestamps and without sampling; the
// output of a CTC head is the best path or, with a beam above 1, the best prefix. Metrics: word and character
// error rate over all rows, with case and punctuation.
Evaluation speech_recognition(const Subject& subject, const std::filesystem::path& folder,
                              const DataOptions& data);

}  // namespace regard::evaluate
