#include "metrics/numpy_random.h"

#include <array>
#include <bit>

namespace regard::metrics {
namespace {

// Return the eight 32-bit words of SeedSequence(seed).generate_state() (numpy/random/bit_generator.pyx).
std::array<std::uint32_t, 8> seed_words(std::uint32_t seed) {
  constexpr std::uint32_t kInitA = 0x43b0d7e5, kMultiplierA = 0x931e8875;
  constexpr std::uint32_t kInitB = 0x8b51f9dd, kMultiplierB = 0x58f38ded;
  constexpr std::uint32_t kMixLeft = 0xca01f9dd, kMixRight = 0x4973f715;
  std::uint32_t hash = kInitA;
  const auto hashed = [&hash](std::uint32_t value) {
    value ^= hash;
    hash *= kMultiplierA;
    value *= hash;
    return value ^ (value >> 16);
  };
  std::array<std::uint32_t, 4> pool{};
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = hashed(i == 0 ? seed : 0);
  for (std::size_t from = 0; from < pool.size(); ++from)
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (from == to) continue;
      const std::uint32_t mixed = kMixLeft * pool[to] - kMixRight * hashed(pool[from]);
      pool[to] = mixed ^ (mixed >> 16);
    }
  std::array<std::uint32_t, 8> words{};
  hash = kInitB;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint32_t value = pool[i % pool.size()] ^ hash;
    hash *= kMultiplierB;
    value *= hash;
    words[i] = value ^ (value >> 16);
  }
  return words;
}

}  // namespace

NumpyRandom::NumpyRandom(std::uint32_t seed) {
  const std::array<std::uint32_t, 8> words = seed_words(seed);
  // Join four words to a 128-bit number: the high half first, and in each half the low word first.
  const auto wide = [&words](std::size_t at) {
    const std::uint64_t high = words[at] | static_cast<std::uint64_t>(words[at + 1]) << 32;
    const std::uint64_t low = words[at + 2] | static_cast<std::uint64_t>(words[at + 3]) << 32;
    return static_cast<Wide>(high) << 64 | low;
  };
  increment_ = wide(4) << 1 | 1;
  next64();
  state_ += wide(0);
  next64();
}

std::uint64_t NumpyRandom::next64() {
  constexpr Wide kMultiplier = static_cast<Wide>(0x2360ED051FC65DA4) << 64 | 0x4385DF649FCCF645;
  state_ = state_ * kMultiplier + increment_;
  const auto high = static_cast<std::uint64_t>(state_ >> 64), low = static_cast<std::uint64_t>(state_);
  return std::rotr(high ^ low, static_cast<int>(high >> 58));
}

std::uint32_t NumpyRandom::next32() {
  if (has_half_) {
    has_half_ = false;
    return half_;
  }
  const std::uint64_t next = next64();
  half_ = static_cast<std::uint32_t>(next >> 32);
  has_half_ = true;
  return static_cast<std::uint32_t>(next);
}

std::uint32_t NumpyRandom::below(std::uint32_t count) {
  if (count == 1) return 0;  // if there is one possible value, no random number is drawn, as in numpy
  std::uint64_t product = static_cast<std::uint64_t>(next32()) * count;
  auto low = static_cast<std::uint32_t>(product);
  if (low < count) {
    const std::uint32_t threshold = (0u - count) % count;
    while (low < threshold) {
      product = static_cast<std::uint64_t>(next32()) * count;
      low = static_cast<std::uint32_t>(product);
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

bool NumpyRandom::bit(Bits& bits) {
  if (bits.left == 0) {
    bits.buffer = next32();
    bits.left = 31;
  } else {
    bits.buffer >>= 1;
    --bits.left;
  }
  return (bits.buffer & 1) != 0;
}

}  // namespace regard::metrics
