// A sound as one input of a model, with what is needed to show it: spectrogram, times of the model's
// positions, and for Whisper the tokens that begin a transcript.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/model_folder.h"
#include "infer/loaded_model.h"

namespace regard::tasks {

// Maximum length of a shown sound in seconds; a model's window may be shorter.
constexpr double kMostShownSeconds = 30.0;

struct ShownSound {
  ModelInput input;
  double seconds = 0;  // of the sound that the input contains; a model's window continues with silence
  bool cut = false;    // the file is longer
  // Logarithmic energies on the mel scale [frames, bins]: the model's own features; for a model of samples,
  // Whisper's of 80 bins.
  Tensor spectrogram;
  double frame_seconds = 0;  // between two frames
  // Time in seconds of the centre of the first position (for patches: of the first column), and between
  // adjacent ones.
  double first_time = 0, time_step = 0;
  std::vector<std::string> labels;  // of each position of the encoder: its time, "[CLS]" for special tokens

  // Encoder–decoders: the decoder's tokens that are given, the start token first, and how the rest is
  // generated.
  std::vector<std::int32_t> prompt;
  infer::SearchOptions search;
};

// Read the first window of a sound file. Whisper's transcript is without tokens of time, in `language` (a
// code; empty: the one that the model finds). Throws as data::read_sound, as InputSpec::length_of for a sound
// that is too short, usage if the model reads no sound or does not know the language, numeric if the model's
// output is not finite.
ShownSound read_shown_sound(const formats::ModelFolder& folder, const infer::LoadedModel& loaded,
                            ThreadPool& pool, const std::filesystem::path& file,
                            const std::string& language = {});

}  // namespace regard::tasks
