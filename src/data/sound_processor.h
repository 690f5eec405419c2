// Conversion of sounds to model input as preprocessor_config.json specifies it, with the same results as
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
    whisper,  // log-mel spectrogram of a window of fixed length, padded with silence
    ast,      // a fixed number of frames of Kaldi's log-mel spectrogram
    samples,  // raw samples; scaled by normalise_samples() if `normalise` is set
  };
  Kind kind = Kind::whisper;
  std::int64_t rate = 16000;  // sampling rate in samples per second
  std::int64_t bins = 80;     // number of mel bins; for whisper and ast
  // window, hop and length of the input in samples; for whisper
  std::int64_t window = 400, hop = 160, samples = 480000;
  std::int64_t frames = 1024;  // number of frames; for ast
  bool normalise = false;
  double mean = -4.2677393, deviation = 4.5689974;  // normalisation for ast: (x − mean) / (2 · deviation)

  // Read FOLDER/preprocessor_config.json, or the part "feature_extractor" of processor_config.json. If both
  // are missing, use the defaults of the extractor for an input [frames, bins]; 0 frames means any number.
  // Throws bad_file with file and key.
  static SoundProcessor open(const std::filesystem::path& folder, std::int64_t frames, std::int64_t bins);

  // Return the content of a preprocessor_config.json from which open() restores this object. transformers
  // can read it too.
  Json to_json() const;
  LogMel log_mel() const;  // computes the log-mel spectrogram; for whisper and ast only
  // Return the model's input [frames, bins] for a whole sound at `rate`. For whisper and ast, longer sounds
  // are truncated (see most_seconds()), and shorter ones are padded.
  Tensor apply(ThreadPool& pool, std::span<const float> sound) const;
  double most_seconds() const;  // longest sound that is not truncated, in seconds; 3600 for `samples`
};

// Last step of Whisper's preprocessing, in place: x = (max(x, largest − 8) + 4) / 4.
void scale_log_mel(std::span<float> energies, float largest);

// Return the reflect padding at the start of a sound, as in PyTorch's stft: the `count` samples after the
// first sample, in reverse order. Samples after the end of the sound are 0.
std::vector<float> reflected_start(std::span<const float> sound, std::int64_t count);

}  // namespace regard::data
