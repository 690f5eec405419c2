// Stages of a mixed-radix Fourier transform, and the log-mel spectrogram. Both are computed in double, on the
// calling thread. Several independent transforms are computed together, one per lane:
// element i of lane l is at i · kSpectrumLanes + l.
#pragma once

#include <cstdint>

namespace regard::kernels {

constexpr std::int64_t kSpectrumLanes = 8;

// One stage of Stockham's algorithm (Cochran et al. 1967): groups · stride transforms of size `radix`. Result
// r of a transform in group q is multiplied by exp(−2πi q r / (radix · groups)).
struct FourierStage {
  std::int64_t radix, groups, stride;
  const double *cosine, *sine;        // [groups, radix]: cosine and sine of −2π q r / (radix · groups)
  const double *root_cos, *root_sin;  // [radix]: cosine and sine of −2π j / radix
  const double *from_real, *from_imaginary;  // [radix · groups · stride, lanes]
  double *to_real, *to_imaginary;            // [radix · groups · stride, lanes]
  // [2, radix, lanes]: scratch memory for a radix other than 2, 4 and 5; otherwise null
  double* points;
};
void fourier_stage(const FourierStage& stage);

// Arguments of mel_energies(), which computes the log-mel spectrogram from the transforms of real frames.
// Lane l contains the transform of two frames: 2l as the real part of the input and 2l + 1 as the imaginary
// part.
struct MelEnergies {
  std::int64_t size = 0;                               // size of the transform
  const double *real = nullptr, *imaginary = nullptr;  // transform [size, lanes]
  std::int64_t filters = 0;
  // The weights of filter m are elements [offsets[m], offsets[m + 1]) of `weights`. They belong to
  // consecutive frequency bins, starting at bin first[m].
  const std::int64_t *first = nullptr, *offsets = nullptr;
  const double* weights = nullptr;
  double floor = 0;         // smaller energies are replaced by this number
  double log_factor = 1;    // factor by which the natural logarithm is multiplied
  bool rounds = false;      // round the spectrum to f32
  double* power = nullptr;  // scratch memory [size / 2 + 1, 2, lanes]
  std::int64_t frames = 0;  // number of frames to write, at most 2 · lanes
  float* to = nullptr;      // [frames, filters]
};
void mel_energies(const MelEnergies& energies);

}  // namespace regard::kernels
