// Workspaces of the encoder: only as many are kept as threads can encode at the same time.
#include "text/ids_encoder.h"

#include <gtest/gtest.h>

#include <deque>

#include "text/word_models.h"

namespace regard::text {
namespace {

TEST(IdsEncoder, FreesTheWorkspacesOfInterruptedThreads) {
  const AddedTokens added;
  const WordLevel model(Vocabulary(), "");
  constexpr std::size_t kMostIdle = 3, kThreads = 40;
  const IdsEncoder encoder({.added = &added, .model = &model}, kMostIdle);
  for (int round = 0; round < 2; ++round) {
    std::deque<IdsEncoder::Lease> leases;
    for (std::size_t i = 0; i < kThreads; ++i) leases.emplace_back(encoder);
    EXPECT_EQ(encoder.idle(), 0u);
    leases.clear();
    EXPECT_EQ(encoder.idle(), kMostIdle);
  }
  EXPECT_GE(IdsEncoder::usual_most_idle(), 2u);
  EXPECT_LE(IdsEncoder::usual_most_idle(), IdsEncoder::kMostIdle);
}

TEST(IdsEncoder, KeepsNoLargeBuffers) {
  const AddedTokens added;
  const WordLevel model(Vocabulary(), "");
  const IdsEncoder encoder({.added = &added, .model = &model}, 1);
  constexpr std::size_t kLarge = std::size_t{1} << 22, kMost = std::size_t{1} << 20;
  {
    const IdsEncoder::Lease work(encoder);
    work->ids.reserve(kLarge);
    work->items.reserve(kLarge);
    work->tokens.reserve(kLarge);
    work->normalized.reserve(kLarge);
  }
  const IdsEncoder::Lease work(encoder);
  EXPECT_LE(work->ids.capacity(), kMost);
  EXPECT_LE(work->items.capacity(), kMost);
  EXPECT_LE(work->tokens.capacity(), kMost);
  EXPECT_LE(work->normalized.capacity(), kMost);
}

}  // namespace
}  // namespace regard::text
