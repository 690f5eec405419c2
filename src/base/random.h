// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). A draw is a pure function of key and counter, so it does not depend on the thread or
// on earlier draws.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Key of a sequence of random numbers: the run's seed, the training step, and a hash that identifies the
// module that draws the numbers.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t place = 0;  // place_of(name) for the name of the module, such as "encoder.0.dropout"
};

// Return the FNV-1a hash of the name. The hash is the same on every machine.
constexpr std::uint32_t place_of(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

using Counter = std::array<std::uint32_t, 4>;

// Compute one Philox4x32-10 block for a two-word key.
constexpr Counter philox(Counter counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
        static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// Hash a RandomKey to the two words of a Philox key.
constexpr std::array<std::uint32_t, 2> fold(const RandomKey& key) {
  const Counter mixed =
      philox({static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32), key.place,
              0x52454741u},
             static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32));
  return {mixed[0], mixed[1]};
}

// Return a uniform number in [0, 1) with 24 bits, exact in f32.
constexpr float uniform(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1.0p-24f;
}

// A sequence of draws for one key, for initialisation, shuffling and sampling. The result depends on the
// order of the draws.
class RandomStream {
 public:
  explicit RandomStream(const RandomKey& key) : key_(fold(key)) {}
  std::uint32_t next();
  float next_uniform() { return uniform(next()); }
  double next_normal();  // normally distributed, mean 0, standard deviation 1 (Box–Muller, in double)
  std::uint64_t next_below(std::uint64_t bound);  // uniform in [0, bound), bound > 0, without bias

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t block_ = 0;
  int left_ = 0;
  Counter words_{};
};

}  // namespace regard::base
