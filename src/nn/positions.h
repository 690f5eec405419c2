// Sinusoidal and rotary position encodings. Their tables are computed once, and are extended when a larger
// position is requested. Learned position embeddings are in nn::Embedding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "ops/rotary.h"
#include "ops/tape.h"

namespace regard::nn {

enum class SinusoidLayout {
  interleaved,  // sine and cosine of each frequency are adjacent (Vaswani et al. 2017, section 3.5)
  halves,       // all sines, then all cosines (Marian)
  // all sines, then all cosines, with exponents i / (size / 2 − 1) instead of 2i / size, so that the lowest
  // frequency is exactly 1 / 10000 (tensor2tensor, TrOCR)
  closed_halves,
};

// Return the encodings [positions, size] of positions 0, 1, …. For the layout interleaved:
// PE(p, 2i) = sin(p / 10000^(2i / size)), PE(p, 2i + 1) = cos(p / 10000^(2i / size)).
Tensor sinusoids(std::int64_t positions, std::int64_t size, SinusoidLayout layout);

class SinusoidalPositions {
 public:
  SinusoidalPositions(std::int64_t size, SinusoidLayout layout) : size_(size), layout_(layout) {}

  // Return the rows of sinusoids() for positions [tokens]: a constant [tokens, size].
  Var forward(Tape& tape, std::span<const std::int32_t> positions);

 private:
  std::int64_t size_;
  SinusoidLayout layout_;
  Tensor table_;  // [positions, size]
};

struct RotaryConfig {
  std::vector<double> frequencies;  // radians per position, one per pair of features
  double magnitude = 1.0;           // factor of cosine and sine (YaRN)
  bool interleaved = false;         // order of the feature pairs (see ops::RotaryTable)
};

// Return base^(−2i / rotary_dim) for each pair i of features (Su et al. 2021, section 3.2).
std::vector<double> rotary_frequencies(std::int64_t rotary_dim, double base);

class RotaryPositions {
 public:
  explicit RotaryPositions(RotaryConfig config);

  // Return the table, extended to these positions if necessary. The reference is valid during the lifetime of
  // this object.
  const ops::RotaryTable& table(std::span<const std::int32_t> positions);

 private:
  RotaryConfig config_;
  ops::RotaryTable table_;
};

}  // namespace regard::nn
