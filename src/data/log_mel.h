// Computes the log-mel spectrogram of a sound, with the same results as transformers' feature extractors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "data/fft.h"

namespace regard::data {

// Triangular filters on the mel scale (transformers' mel_filter_bank()).
struct MelFilters {
  // Filter m has the weights [offsets[m], offsets[m + 1]), for the transform's bins first[m], first[m] + 1, …
  std::vector<std::int64_t> first, offsets{0};
  std::vector<double> weights;

  // Whisper's filters: Slaney's scale from 0 to 8000 Hz, each filter scaled to constant area.
  static MelFilters slaney(std::int64_t bins, std::int64_t fft_size, std::int64_t rate);
  // Kaldi's filters: from 20 Hz to half the sampling rate, triangular in mel space.
  static MelFilters kaldi(std::int64_t bins, std::int64_t fft_size, std::int64_t rate);
};

class LogMel {
 public:
  // Whisper's features: Hann window of `window` samples, FFT of the same size, log10 of the energies.
  // Energies below 1e-10 are replaced by 1e-10.
  static LogMel whisper(std::int64_t bins, std::int64_t window, std::int64_t hop, std::int64_t rate);
  // Kaldi's fbank with the settings of ASTFeatureExtractor: frames of 400 samples with a hop of 160, mean
  // removed, pre-emphasis 0.97, symmetric Hann window, FFT of 512 points, natural logarithm of the energies.
  // Energies below 2^-23 are replaced by 2^-23.
  static LogMel kaldi(std::int64_t bins, std::int64_t rate);

  std::int64_t bins() const { return std::ssize(filters_.first); }
  std::int64_t window() const { return static_cast<std::int64_t>(window_.size()); }
  std::int64_t hop() const { return hop_; }
  // Return the number of complete frames in `samples` samples.
  std::int64_t frames_in(std::int64_t samples) const {
    return samples < window() ? 0 : (samples - window()) / hop_ + 1;
  }

  // Write the log-mel spectrogram to `to` [frames, bins], computed in parallel. Frame f covers samples
  // [f · hop, f · hop + window), so `samples` has at least window + (frames − 1) · hop elements. Results are
  // bit-identical for any number of threads.
  void compute(ThreadPool& pool, std::span<const float> samples, std::int64_t frames, float* to) const;

 private:
  LogMel(MelFilters filters, std::vector<double> window, std::int64_t hop, std::int64_t fft_size);
  void load(const float* samples, double* lane) const;
  void compute_block(const float* samples, std::int64_t count, double* memory, float* to) const;

  MelFilters filters_;
  std::vector<double> window_;
  std::int64_t hop_;
  Fft fft_;
  bool kaldi_ = false;
};

// Scale to mean 0 and variance 1 (Wav2Vec2FeatureExtractor's do_normalize): (x − mean) / √(variance + 1e-7).
void normalise_samples(std::span<float> samples);

}  // namespace regard::data
