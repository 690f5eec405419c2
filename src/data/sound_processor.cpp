#include "data/sound_processor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"
#include "data/processor_keys.h"
#include "data/sound.h"
#include "regard/error.h"

namespace regard::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostBins = 1024, kMostWindow = 1 << 16, kMostSeconds = 3600;

// Reads keys of a feature extractor.
class SoundKeys {
 public:
  explicit SoundKeys(ProcessorKeys keys) : file_(std::move(keys.file)), keys_(std::move(keys.keys)) {}

  void size(const char* key, std::int64_t& value, std::int64_t low, std::int64_t high) const {
    if (const auto found = keys_.find(key); found == keys_.end() || found->is_null()) return;
    value = require_in<std::int64_t>(keys_, key, file_, low, high);
  }
  void number(const char* key, double& value) const {
    value = optional_value<double>(keys_, key, file_).value_or(value);
  }
  void flag(const char* key, bool& value) const {
    value = optional_value<bool>(keys_, key, file_).value_or(value);
  }
  Error wrong(const char* key, const std::string& expected) const {
    const auto found = keys_.find(key);
    return file_error(file_, std::string("\"") + key + "\" is missing or has a wrong value")
        .found(found == keys_.end() ? "no such key" : describe(*found))
        .expected(expected);
  }

 private:
  std::string file_;
  Json keys_;
};

void read_whisper(const SoundKeys& keys, SoundProcessor& processor) {
  keys.size("feature_size", processor.bins, 1, kMostBins);
  keys.size("n_fft", processor.window, 2, kMostWindow);
  keys.size("hop_length", processor.hop, 1, processor.window);
  std::int64_t seconds = 30;
  keys.size("chunk_length", seconds, 1, kMostSeconds);
  processor.samples = seconds * processor.rate;
  double dither = 0.0;
  keys.number("dither", dither);
  if (dither != 0.0) throw keys.wrong("dither", "0, because dithering is not supported");
}

}  // namespace

SoundProcessor SoundProcessor::open(const fs::path& folder, std::int64_t frames, std::int64_t bins) {
  SoundProcessor processor;
  processor.kind = bins == 1 ? Kind::samples : Kind::whisper;
  processor.bins = bins;
  std::optional<ProcessorKeys> found = read_processor_keys(folder, "feature_extractor");
  if (!found) {
    processor.normalise = processor.kind == Kind::samples;
    processor.samples = frames * processor.hop;
    return processor;
  }
  const std::string type = processor_class_of(*found, "feature_extractor_type", folder);
  const SoundKeys keys(std::move(*found));
  keys.size("sampling_rate", processor.rate, kLowestRate, kHighestRate);
  if (type == "WhisperFeatureExtractor" || type == "whisper") {
    processor.kind = Kind::whisper;
    read_whisper(keys, processor);
  } else if (type == "ASTFeatureExtractor" || type == "audio-spectrogram-transformer") {
    processor.kind = Kind::ast;
    processor.normalise = true;
    keys.size("num_mel_bins", processor.bins, 1, kMostBins);
    keys.size("max_length", processor.frames, 1, 1 << 20);
    keys.number("mean", processor.mean);
    keys.number("std", processor.deviation);
    if (!(processor.deviation > 0.0)) throw keys.wrong("std", "a number above 0");
  } else if (type == "Wav2Vec2FeatureExtractor" || type == "wav2vec2") {
    processor.kind = Kind::samples;
    processor.normalise = true;
  } else {
    throw keys.wrong("feature_extractor_type",
                     "WhisperFeatureExtractor, ASTFeatureExtractor or Wav2Vec2FeatureExtractor");
  }
  keys.flag("do_normalize", processor.normalise);
  return processor;
}

Json SoundProcessor::to_json() const {
  Json json{{"sampling_rate", rate}, {"do_normalize", normalise}, {"padding_value", 0.0}};
  if (kind == Kind::samples) {
    json["feature_extractor_type"] = "Wav2Vec2FeatureExtractor";
    json["feature_size"] = 1, json["return_attention_mask"] = true;
  } else if (kind == Kind::ast) {
    json["feature_extractor_type"] = "ASTFeatureExtractor";
    json["feature_size"] = 1, json["num_mel_bins"] = bins, json["max_length"] = frames;
    json["mean"] = mean, json["std"] = deviation, json["return_attention_mask"] = false;
  } else {
    json["feature_extractor_type"] = "WhisperFeatureExtractor";
    json["feature_size"] = bins, json["n_fft"] = window, json["hop_length"] = hop;
    json["chunk_length"] = samples / rate, json["n_samples"] = samples, json["nb_max_frames"] = samples / hop;
    json["return_attention_mask"] = false;
  }
  return json;
}

LogMel SoundProcessor::log_mel() const {
  return kind == Kind::ast ? LogMel::kaldi(bins, rate) : LogMel::whisper(bins, window, hop, rate);
}

double SoundProcessor::most_seconds() const {
  const double second = 1.0 / static_cast<double>(rate);
  if (kind == Kind::whisper) return static_cast<double>(samples) * second;
  if (kind == Kind::ast) return static_cast<double>(frames * 160 + 400) * second;
  return static_cast<double>(kMostSeconds);
}

void scale_log_mel(std::span<float> energies, float largest) {
  for (float& x : energies) x = (std::max(x, largest - 8.0f) + 4.0f) / 4.0f;
}

std::vector<float> reflected_start(std::span<const float> sound, std::int64_t count) {
  std::vector<float> start(static_cast<std::size_t>(count), 0.0f);
  for (std::int64_t i = 1; i <= count && i < std::ssize(sound); ++i)
    start[static_cast<std::size_t>(count - i)] = sound[static_cast<std::size_t>(i)];
  return start;
}

namespace {

Tensor samples_of(const SoundProcessor& processor, std::span<const float> sound) {
  Tensor values = Tensor::empty({std::ssize(sound), 1});
  std::copy(sound.begin(), sound.end(), values.f32());
  if (processor.normalise) normalise_samples({values.f32(), sound.size()});
  return values;
}

Tensor whisper_features(ThreadPool& pool, const SoundProcessor& processor, std::span<const float> sound) {
  const LogMel mel = processor.log_mel();
  const auto samples = static_cast<std::size_t>(processor.samples);
  const std::int64_t half = processor.window / 2, frames = processor.samples / processor.hop;
  // The sound, truncated or zero-padded to `samples` samples, with reflect padding at both ends as in
  // PyTorch's stft.
  std::vector<float> padded(samples + 2 * static_cast<std::size_t>(half), 0.0f);
  const std::span<float> window(padded.data() + half, samples);
  const auto used = window.first(std::min(samples, sound.size()));
  std::copy_n(sound.begin(), used.size(), used.begin());
  if (processor.normalise) normalise_samples(used);
  const std::vector<float> start = reflected_start(window, half);
  std::copy(start.begin(), start.end(), padded.begin());
  for (std::int64_t i = 0; i < half && i + 2 <= processor.samples; ++i)
    window.data()[processor.samples + i] = window.data()[processor.samples - 2 - i];
  Tensor features = Tensor::empty({frames, processor.bins});
  const std::span<float> all(features.f32(), static_cast<std::size_t>(features.elements()));
  mel.compute(pool, padded, frames, all.data());
  if (!all.empty()) scale_log_mel(all, *std::max_element(all.begin(), all.end()));
  return features;
}

Tensor ast_features(ThreadPool& pool, const SoundProcessor& processor, std::span<const float> sound) {
  const LogMel mel = processor.log_mel();
  Tensor features = Tensor::zeros({processor.frames, processor.bins});
  mel.compute(pool, sound, std::min(processor.frames, mel.frames_in(std::ssize(sound))), features.f32());
  for (std::int64_t i = 0; processor.normalise && i < features.elements(); ++i)
    features.f32()[i] = static_cast<float>((static_cast<double>(features.f32()[i]) - processor.mean) /
                                           (2.0 * processor.deviation));
  return features;
}

}  // namespace

Tensor SoundProcessor::apply(ThreadPool& pool, std::span<const float> sound) const {
  if (kind == Kind::samples) return samples_of(*this, sound);
  return kind == Kind::ast ? ast_features(pool, *this, sound) : whisper_features(pool, *this, sound);
}

}  // namespace regard::data
