// Order of continuations with equal probabilities in a beam search.
#include "infer/hypotheses.h"

#include <gtest/gtest.h>

#include <utility>

namespace regard::infer {
namespace {

using ParentsAndTokens = std::vector<std::pair<std::int32_t, std::int32_t>>;

ParentsAndTokens kept_nodes(const Hypotheses& search) {
  ParentsAndTokens nodes;
  for (const BeamNode& node : search.last_step()->kept) nodes.emplace_back(node.parent, node.token);
  return nodes;
}

TEST(Hypotheses, EqualContinuationsAreOrderedByRowAndToken) {
  SearchOptions options;
  options.beam = options.n_best = 2;
  const auto search = Hypotheses::make(options, 3);
  ASSERT_EQ(search->candidates(), 4);
  const std::vector<float> one_row(4, -1.0f), two_rows(8, -1.0f);
  const std::vector<std::int32_t> first{9, 5, 7, 2}, second{8, 3, 6, 4, 1, 0, 2, 9};
  search->advance({4, one_row, first});
  EXPECT_EQ(kept_nodes(*search), (ParentsAndTokens{{0, 2}, {0, 5}}));
  search->advance({4, two_rows, second});
  EXPECT_EQ(kept_nodes(*search), (ParentsAndTokens{{0, 3}, {0, 4}}));
  const std::vector<float> better_second_row{-2, -2, -2, -2, -1, -3, -1, -2};
  const std::vector<std::int32_t> third{1, 2, 3, 4, 9, 8, 7, 6};
  search->advance({4, better_second_row, third});
  EXPECT_TRUE(search->done());
  const std::vector<Hypothesis> results = search->results();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].tokens, (std::vector<std::int32_t>{2, 4, 7}));
  EXPECT_EQ(results[1].tokens, (std::vector<std::int32_t>{2, 4, 9}));
}

}  // namespace
}  // namespace regard::infer
