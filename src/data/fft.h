// Discrete Fourier transforms of any size in double precision by Stockham's mixed-radix algorithm (Cochran et
// al. 1967), computed kLanes at a time. Sizes that are products of 2, 3, 4 and 5 are fast.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/spectrum.h"

namespace regard::data {

class Fft {
 public:
  static constexpr std::int64_t kLanes = kernels::kSpectrumLanes;  // number of transforms computed together

  explicit Fft(std::int64_t size);

  std::int64_t size() const { return size_; }
  // Compute X[k] = Σ_n x[n] exp(−2πi k n / size) for kLanes transforms, in place. real, imaginary [size,
  // kLanes]; scratch: 2 · size · kLanes elements.
  void transform(double* real, double* imaginary, double* scratch) const;

 private:
  struct Stage {
    // stride: product of the radices of the previous stages; radix · groups = size / stride
    std::int64_t radix, groups, stride;
    std::vector<double> cosine, sine;        // [q, r]: cosine and sine of −2π q r / (radix · groups)
    std::vector<double> root_cos, root_sin;  // [radix]: cosine and sine of −2π j / radix
  };
  std::int64_t size_;
  std::vector<Stage> stages_;
};

}  // namespace regard::data
