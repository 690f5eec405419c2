// Conversion of sounds to model input as preprocessor_config.json specifies it, with the results of
// transformers' WhisperFeatureExtractor, ASTFeatureExtractor and Wav2Vec2FeatureExtractor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/thread_pool.h"
#include "data/log_mel.h"
#include "regard/tensor.h"

namespace regard::data {

struct SoundProcessor {
  enum class Kind {
    whisper,  // log-mel energies of a window of fixed length, padded with silence
    ast,      // Kaldi's log-mel energies, a fixed number of frames
    samples,  // the samples themselves
  };
  Kind kind = Kind::whisper;
  std::int64_t rate = 16000;                               // samples per second
  std::int64_t bins = 80;                                  // whisper, ast
  std::int64_t window = 400, hop = 160, samples = 480000;  // whisper, in samples
  std::int64_t frames = 1024;                              // ast
  bool normalise = false;
  double mean = -4.2677393, deviation = 4.5689974;  // ast: (x − mean) / (2 deviation)

  // Read FOLDER/preprocessor_config.json, or the part "feature_extractor" of processor_config.json. If both
  // are missing, the defaults of the extractor that fits an input [frames, bins] (0 frames: any number).
  // Throws bad_file with file and key.
  static SoundProcessor open(const std::filesystem::path& folder, std::int64_t frames, std::int64_t bins);

  // Return the content of a preprocessor_config.json that open() reads as this; transformers reads it too.
  Json to_json() const;
  LogMel log_mel() const;  // whisper, ast
  // Return the model's input [frames, bins] of a whole sound at `rate`; Whisper's is cut after the window.
  Tensor apply(ThreadPool& pool, std::span<const float> sound) const;
  double most_seconds() const;  // length of a sound that apply() uses
};

// Whisper's last step, in place: x = (max(x, largest − 8) + 4) / 4.
void scale_log_mel(std::span<float> energies, float largest);

// Return the first `count` values before a sound, as PyTorch's stft pads: the samples after the first,
// mirrored.
std::vector<float> reflected_start(std::span<const float> sound, std::int64_t count);

}  // namespace regard::data
