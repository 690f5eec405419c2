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

}  // namespace
}  // namespace regard::infer
