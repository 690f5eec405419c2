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

}  // namespace
}  // namespace regard::text
