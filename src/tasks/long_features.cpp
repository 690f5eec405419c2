#include "tasks/long_features.h"

#include <algorithm>
#include <vector>

#include "regard/error.h"

namespace regard::tasks {
namespace {

constexpr float kSilence = -10.0f;  // log10 of the smallest energy, used for silence

}  // namespace

LongFeatures::LongFeatures(data::SoundStream& sound, const data::SoundProcessor& processor, ThreadPool& pool,
                           const std::function<void(double)>& progress)
    : store_(processor.bins), bins_(processor.bins), largest_(kSilence) {
  if (processor.kind != data::SoundProcessor::Kind::whisper || processor.normalise)
    throw usage_error("the features of this model cannot be computed window by window")
        .expected("log-mel features of Whisper, without normalisation");
  const data::LogMel mel = processor.log_mel();
  const std::int64_t half = processor.window / 2;
  std::vector<float> waiting, piece(static_cast<std::size_t>(processor.samples));
  std::int64_t samples = 0;
  for (std::size_t got = piece.size(); got == piece.size();) {
    got = sound.read(piece);
    const std::span<const float> read = std::span<const float>(piece).first(got);
    if (samples == 0) waiting = data::reflected_start(read, half);
    waiting.insert(waiting.end(), read.begin(), read.end());
    samples += static_cast<std::int64_t>(got);
    seconds_ = static_cast<double>(samples) / static_cast<double>(processor.rate);
    add(pool, mel, waiting);
    if (progress) progress(seconds_);
  }
  // Append silence, so that every frame whose centre is within the sound has all its samples.
  waiting.insert(waiting.end(), static_cast<std::size_t>(processor.window + half), 0.0f);
  add(pool, mel, waiting);
  frames_ = (samples + processor.hop - 1) / processor.hop;
}

// Compute the complete frames of the samples `waiting`, append them to the store, and remove the samples that
// only these frames use.
void LongFeatures::add(ThreadPool& pool, const data::LogMel& mel, std::vector<float>& waiting) {
  const std::int64_t frames = mel.frames_in(std::ssize(waiting));
  if (frames == 0) return;
  std::vector<float> energies(static_cast<std::size_t>(frames * bins_));
  mel.compute(pool, waiting, frames, energies.data());
  largest_ = std::max(largest_, *std::max_element(energies.begin(), energies.end()));
  store_.append(energies);
  waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(frames * mel.hop()));
}

Tensor LongFeatures::window(std::int64_t first, std::int64_t count) {
  Tensor features = Tensor::empty({count, bins_});
  const std::span<float> all(features.f32(), static_cast<std::size_t>(features.elements()));
  std::fill(all.begin(), all.end(), kSilence);
  const std::int64_t stored = std::clamp<std::int64_t>(store_.rows() - first, 0, count);
  if (stored > 0) store_.read(first, stored, all.data());
  data::scale_log_mel(all, largest_);
  return features;
}

}  // namespace regard::tasks
