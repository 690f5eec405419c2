// NumPy's default random generator: PCG64 (O'Neill 2014, https://www.pcg-random.org) seeded by SeedSequence.
// With it, resampling draws the same rows as sacreBLEU.
#pragma once

#include <cstdint>

namespace regard::metrics {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed);  // the state of numpy.random.default_rng(seed)

  // Return the next number of rng.choice(count, replace=True), from 0 to count - 1 (Lemire 2019). Requires 1
  // <= count < 2^32.
  std::uint32_t below(std::uint32_t count);
  // State of one call of rng.integers(2, size, dtype=bool), which draws 32 bits at a time. Use a new object
  // for each call.
  struct Bits {
    std::uint32_t buffer = 0;
    int left = 0;  // number of unused bits
  };
  bool bit(Bits& bits);

 private:
  std::uint64_t next64();
  std::uint32_t next32();  // returns the low half of next64(); the next call returns the high half
  __extension__ using Wide = unsigned __int128;
  Wide state_ = 0, increment_ = 0;
  std::uint32_t half_ = 0;
  bool has_half_ = false;
};

}  // namespace regard::metrics
