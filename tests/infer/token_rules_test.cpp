// Rules that change the scores of a step, in cases that the goldens of complete generations do not contain.
#include "infer/token_rules.h"

#include <gtest/gtest.h>

#include <cmath>

namespace regard::infer {
namespace {

// Return true if the end token 2 is forbidden after a prompt of three tokens and `generated` new tokens.
bool end_is_forbidden(const TokenRules& rules, std::int64_t generated) {
  const std::vector<std::int32_t> prompt{4, 5, 6}, written(static_cast<std::size_t>(generated), 7), end{2};
  std::vector<float> scores(10, 0.0f);
  std::vector<std::int32_t> history;
  apply(rules, {.source = {}, .prompt = prompt, .generated = written, .end_tokens = end, .max_new = 20},
        scores, history);
  return std::isinf(scores[2]);
}

TEST(TokenRules, MinimumOfNewTokensReplacesTheMinimumLength) {
  TokenRules rules;
  rules.min_length = 6;
  EXPECT_TRUE(end_is_forbidden(rules, 2));
  EXPECT_FALSE(end_is_forbidden(rules, 3));
  rules.min_new = 2;
  EXPECT_TRUE(end_is_forbidden(rules, 1));
  EXPECT_FALSE(end_is_forbidden(rules, 2));
  rules.min_new = 5;
  EXPECT_TRUE(end_is_forbidden(rules, 4));
  EXPECT_FALSE(end_is_forbidden(rules, 5));
}

// The condition of SequenceBiasLogitsProcessor in transformers: the text has at least as many tokens as the
// sequence.
TEST(TokenRules, SequencesLongerThanTheTextHaveNoEffect) {
  TokenRules rules;
  rules.bad_words = {{4, 5, 6}};
  rules.biases = {{{4, 5, 7}, 1.5}};
  const auto scores_after = [&](const std::vector<std::int32_t>& prompt) {
    std::vector<float> scores(10, 0.0f);
    std::vector<std::int32_t> history;
    apply(rules, {.source = {}, .prompt = prompt, .generated = {}, .end_tokens = {}, .max_new = 20}, scores,
          history);
    return scores;
  };
  EXPECT_EQ(scores_after({4, 5}), std::vector<float>(10, 0.0f));
  EXPECT_TRUE(std::isinf(scores_after({1, 4, 5})[6]));
  EXPECT_EQ(scores_after({1, 4, 5})[7], 1.5f);
  rules.bad_words = {{6}};
  EXPECT_TRUE(std::isinf(scores_after({4})[6]));
}

}  // namespace
}  // namespace regard::infer
