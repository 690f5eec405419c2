#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/namespaces.h"

namespace regard::testing {
namespace {

// Known-answer tests published with the reference code (Random123, kat_vectors).
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (Counter{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u),
            (Counter{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0xa4093822u, 0x299f31d0u),
            (Counter{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(RandomStream, HasTheMomentsItClaims) {
  RandomStream stream({7, 0, place_of("test")});
  double sum = 0, squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double draw = stream.next_normal();
    sum += draw;
    squares += draw * draw;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1.0, 0.02);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(stream.next_below(7), 7u);
}

// A stream uses the 32-bit words of the Philox blocks 0, 1, 2, … of its key, in this order.
TEST(RandomStream, DrawsTheWordsOfConsecutiveBlocks) {
  const RandomKey key{7, 3, place_of("test")};
  const auto [key0, key1] = fold(key);
  RandomStream uniforms(key), integers(key), normals(key);
  for (std::uint32_t block = 0; block < 100; ++block) {
    const Counter words = philox({block, 0, 0, 0}, key0, key1);
    for (const std::uint32_t word : words) EXPECT_EQ(uniforms.next_uniform(), uniform(word)) << block;
    for (const std::size_t at : {std::size_t{0}, std::size_t{2}}) {
      const double first = words[at], second = words[at + 1];
      const std::uint64_t both = std::uint64_t{words[at]} << 32 | words[at + 1];
      EXPECT_EQ(integers.next_below(1000), both % 1000) << block;
      // Box and Muller: the square of the radius has an exponential distribution, and the angle is uniform.
      const double radius = std::sqrt(-2.0 * std::log((first + 1.0) / 0x1.0p32));
      EXPECT_NEAR(normals.next_normal(), radius * std::cos(second / 0x1.0p31 * std::numbers::pi), 1e-9)
          << block;
    }
  }
}

// For the bound 3 · 2^62, 64-bit draws that are not below the bound are rejected.
TEST(RandomStream, RejectsDrawsThatWouldMakeSmallValuesMoreLikely) {
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  const RandomKey key{8, 0, place_of("test")};
  RandomStream accepted(key), all(key);
  std::size_t rejected = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t draw = accepted.next_below(kBound);
    std::uint64_t raw = all.next_below(UINT64_MAX);
    for (; raw >= kBound; raw = all.next_below(UINT64_MAX)) ++rejected;
    EXPECT_EQ(draw, raw);
  }
  EXPECT_GT(rejected, 10u);
}

}  // namespace
}  // namespace regard::testing
