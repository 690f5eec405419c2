// Evaluation of models that read sound: classification and transcription.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Evaluate a classifier of sounds on a table with the columns path (relative to the table's folder) and
// label. Metrics: as for classification() with one label (evaluate/classification.h). Throws the errors of
// data::SoundStream with file and row of the table, and invalid_input for an unknown label.
Evaluation audio_classification(const Subject& subject, const DataOptions& data);

// Compute the word and character error rates over all rows of a table with the columns path and text; case
// and punctuation count. Whisper decodes without timestamps and without sampling; a CTC head outputs the best
// path or, with a beam width above 1, the best result of prefix beam search.
Evaluation speech_recognition(const Subject& subject, const DataOptions& data);

}  // namespace regard::evaluate
