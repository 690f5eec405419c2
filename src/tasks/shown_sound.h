// A sound as one input of a model, with the data to display it: the spectrogram and the times of the model's
// positions. For Whisper, it also contains the tokens that begin a transcript.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "infer/loaded_model.h"

namespace regard::tasks {

// Maximum duration, in seconds, of the audio that is displayed; the model's input window may be shorter.
constexpr double kMostShownSeconds = 30.0;

struct ShownSound {
  ModelInput input;
  // duration of the input in seconds, without the silence that pads it to the model's window
  double seconds = 0;
  // true if the file is longer than the maximum input (kMostShownSeconds or the model's window); its end is
  // then not read
  bool cut = false;
  // Log-mel spectrogram [frames, bins]: the model's own features, or Whisper's with 80 bins if the model's
  // input is the waveform.
  Tensor spectrogram;
  double frame_seconds = 0;  // time between adjacent frames
  // Time of the centre of the first position (for patches, of the first column), and time between adjacent
  // positions, in seconds.
  double first_time = 0, time_step = 0;
  // label of each position of the encoder: its time (for patches, also the frequency band), or the name of a
  // special token, such as "[CLS]"
  std::vector<std::string> labels;

  // Encoder–decoders only: the first tokens of the decoder, beginning with the start token, and the options
  // for generating further tokens. Timestamp tokens are suppressed.
  std::vector<std::int32_t> prompt;
  infer::SearchOptions search;
};

// Read the first window of a sound file. `language` is the code of the transcript's language; if it is empty,
// Whisper detects the language. Throws usage if the model does not read sound or does not support the
// language, and numeric if the model's output is not finite. Also throws the errors of data::read_sound and,
// for a sound that is too short, of InputSpec::length_of.
ShownSound read_shown_sound(const infer::LoadedModel& loaded, ThreadPool& pool,
                            const std::filesystem::path& file, const std::string& language = {});

}  // namespace regard::tasks
