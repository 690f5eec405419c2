#include "data/log_mel.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace regard::data {
namespace {

// Slaney's mel scale ("Auditory Toolbox", 1998): linear below 1000 Hz, logarithmic above.
const double kSlaneyStep = std::log(6.4) / 27.0;
double slaney_mel(double hertz) {
  return hertz < 1000.0 ? 3.0 * hertz / 200.0 : 15.0 + std::log(hertz / 1000.0) / kSlaneyStep;
}
double slaney_hertz(double mel) {
  return mel < 15.0 ? 200.0 * mel / 3.0 : 1000.0 * std::exp(kSlaneyStep * (mel - 15.0));
}
double kaldi_mel(double hertz) {
  return 1127.0 * std::log(1.0 + hertz / 700.0);
}

// Return triangular filters with the corners `points` [bins + 2], sampled at the frequencies `positions`
// [count] of the transform's bins. Points and positions have the same unit (Hz or mel).
MelFilters triangles(const std::vector<double>& points, const std::vector<double>& positions,
                     bool constant_area) {
  MelFilters all;
  for (std::size_t m = 0; m + 2 < points.size(); ++m) {
    std::int64_t first = 0;
    const double area = constant_area ? 2.0 / (points[m + 2] - points[m]) : 1.0;
    for (std::size_t bin = 0; bin < positions.size(); ++bin) {
      const double down = (positions[bin] - points[m]) / (points[m + 1] - points[m]);
      const double up = (points[m + 2] - positions[bin]) / (points[m + 2] - points[m + 1]);
      const double weight = std::min(down, up);
      if (weight <= 0.0) continue;
      if (std::ssize(all.weights) == all.offsets.back()) first = static_cast<std::int64_t>(bin);
      all.weights.push_back(weight * area);
    }
    all.first.push_back(first);
    all.offsets.push_back(std::ssize(all.weights));
  }
  return all;
}

std::vector<double> evenly_spaced(double low, double high, std::int64_t count) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < count; ++i)
    all.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1));
  return all;
}

std::vector<double> hann(std::int64_t size, std::int64_t period) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < size; ++i)
    all.push_back(
        0.5 - 0.5 * std::cos(2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(period)));
  return all;
}

constexpr double kPreEmphasis = 0.97;
// number of frames that are transformed together: two real frames per lane
constexpr std::int64_t kTogether = 2 * Fft::kLanes;

}  // namespace

MelFilters MelFilters::slaney(std::int64_t bins, std::int64_t fft_size, std::int64_t rate) {
  std::vector<double> points = evenly_spaced(slaney_mel(0.0), slaney_mel(8000.0), bins + 2);
  for (double& point : points) point = slaney_hertz(point);
  const std::int64_t highest = rate / 2, frequencies = fft_size / 2 + 1;
  return triangles(points, evenly_spaced(0.0, static_cast<double>(highest), frequencies), true);
}

MelFilters MelFilters::kaldi(std::int64_t bins, std::int64_t fft_size, std::int64_t rate) {
  std::vector<double> positions;
  for (std::int64_t bin = 0; bin <= fft_size / 2; ++bin)
    positions.push_back(
        kaldi_mel(static_cast<double>(rate) / static_cast<double>(fft_size) * static_cast<double>(bin)));
  const std::int64_t highest = rate / 2;
  return triangles(evenly_spaced(kaldi_mel(20.0), kaldi_mel(static_cast<double>(highest)), bins + 2),
                   positions, false);
}

LogMel::LogMel(MelFilters filters, std::vector<double> window, std::int64_t hop, std::int64_t fft_size)
    : filters_(std::move(filters)), window_(std::move(window)), hop_(hop), fft_(fft_size) {}

LogMel LogMel::whisper(std::int64_t bins, std::int64_t window, std::int64_t hop, std::int64_t rate) {
  return {MelFilters::slaney(bins, window, rate), hann(window, window), hop, window};
}

LogMel LogMel::kaldi(std::int64_t bins, std::int64_t rate) {
  LogMel mel(MelFilters::kaldi(bins, 512, rate), hann(400, 399), 160, 512);
  mel.kaldi_ = true;
  return mel;
}

void LogMel::compute(ThreadPool& pool, std::span<const float> samples, std::int64_t frames, float* to) const {
  constexpr std::int64_t kBlocks = 4;  // number of blocks of kTogether frames per task
  const std::int64_t per_task = kBlocks * kTogether;
  pool.parallel_for((frames + per_task - 1) / per_task, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(frames, (task + 1) * per_task);
    std::vector<double> memory(static_cast<std::size_t>(4 * fft_.size() * Fft::kLanes), 0.0);
    for (std::int64_t first = task * per_task; first < end; first += kTogether)
      compute_block(samples.data() + first * hop_, std::min(kTogether, end - first), memory.data(),
                    to + first * bins());
  });
}

// Window one frame and write it to lane[0], lane[kLanes], lane[2 · kLanes], …
void LogMel::load(const float* samples, double* lane) const {
  const std::int64_t size = window();
  double mean = 0.0;
  if (kaldi_) {
    for (std::int64_t i = 0; i < size; ++i) mean += static_cast<double>(samples[i]);
    mean /= static_cast<double>(size);
  }
  double before = 0.0;
  for (std::int64_t i = 0; i < size; ++i) {
    double x = static_cast<double>(samples[i]) - mean;
    if (kaldi_) {
      const double own = x;
      x -= kPreEmphasis * (i == 0 ? own : before);
      before = own;
    }
    lane[i * Fft::kLanes] = x * window_[static_cast<std::size_t>(i)];
  }
}

// Compute `count` frames, at most kTogether. `memory` has 4 · size · lanes elements: the real and imaginary
// parts of the transform, and its scratch memory.
void LogMel::compute_block(const float* samples, std::int64_t count, double* memory, float* to) const {
  const std::int64_t size = fft_.size(), lanes = Fft::kLanes;
  double* const real = memory;
  double* const imaginary = real + size * lanes;
  double* const scratch = imaginary + size * lanes;
  // Clear what load() does not write: the padding of each frame, and the lanes of missing frames.
  const std::int64_t written = count == kTogether ? window() : 0;
  for (double* part : {real, imaginary}) std::fill(part + written * lanes, part + size * lanes, 0.0);
  for (std::int64_t f = 0; f < count; ++f) load(samples + f * hop_, (f % 2 == 0 ? real : imaginary) + f / 2);
  fft_.transform(real, imaginary, scratch);
  kernels::MelEnergies energies;
  energies.size = size, energies.real = real, energies.imaginary = imaginary;
  energies.filters = bins();
  energies.first = filters_.first.data(), energies.offsets = filters_.offsets.data();
  energies.weights = filters_.weights.data();
  energies.floor = kaldi_ ? 0x1p-23 : 1e-10;
  energies.log_factor = kaldi_ ? 1.0 : std::numbers::log10e;
  // Round Kaldi's spectrum to f32, as transformers does.
  energies.rounds = kaldi_;
  energies.power = scratch;
  energies.frames = count, energies.to = to;
  kernels::mel_energies(energies);
}

void normalise_samples(std::span<float> samples) {
  if (samples.empty()) return;
  const auto size = static_cast<double>(samples.size());
  double mean = 0.0, variance = 0.0;
  for (const float x : samples) mean += static_cast<double>(x);
  mean /= size;
  for (const float x : samples) variance += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  const double deviation = std::sqrt(variance / size + 1e-7);
  for (float& x : samples) x = static_cast<float>((static_cast<double>(x) - mean) / deviation);
}

}  // namespace regard::data
