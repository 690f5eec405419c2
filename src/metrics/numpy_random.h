// NumPy's default random generator, so that resampling draws the same rows as sacreBLEU: PCG64 (O'Neill 2014,
// https://www.pcg-random.org) seeded by SeedSequence.
#pragma once

#include <cstdint>

namespace regard::metrics {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed);  // numpy.random.default_rng(seed)

  // Return the next number of rng.choice(count, replace=True), from 0 to count - 1; 1 <= count < 2^32
  // (Lemire 2019).
  std::uint32_t below(std::uint32_t count);
  // The next number of rng.integers(2, dtype=bool). `left` is the number of unused bits of the array that is
  // drawn; an array begins with `left` = 0.
  struct Bits {
    std::uint32_t buffer = 0;
    int left = 0;
  };
  bool bit(Bits& bits);

 private:
  std::uint64_t next64();
  std::uint32_t next32();  // returns the low half of next64(), and at the next call its high half
  __extension__ using Wide = unsigned __int128;
  Wide state_ = 0, increment_ = 0;
  std::uint32_t half_ = 0;
  bool has_half_ = false;
};

}  // namespace regard::metrics
