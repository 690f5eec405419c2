// Rules that change the scores of a step, in cases that the goldens of complete generations do not contain.
#include "infer/token_rules.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/throws.h"

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

// An entry of bad_words that consists of one end token is ignored. All other entries are forbidden.
TEST(TokenRules, EndTokensAreNotBadWords) {
  TokenRules rules;
  rules.bad_words = {{2}, {5}, {4, 2}, {4, 6}};
  const std::vector<std::int32_t> prompt{1, 4}, end{2};
  std::vector<std::int32_t> history;
  const auto forbidden = [&](std::span<const std::int32_t> written) {
    std::vector<float> scores(8, 0.0f);
    apply(rules, {.source = {}, .prompt = prompt, .generated = written, .end_tokens = end, .max_new = 20},
          scores, history);
    std::vector<std::int32_t> ids;
    for (std::int32_t id = 0; id < 8; ++id)
      if (std::isinf(scores[static_cast<std::size_t>(id)])) ids.push_back(id);
    return ids;
  };
  EXPECT_EQ(forbidden({}), (std::vector<std::int32_t>{2, 5, 6})) << "4 and then 2 are a sequence";
  const std::vector<std::int32_t> written{7};
  EXPECT_EQ(forbidden(written), std::vector<std::int32_t>{5});
}

TEST(TokenRules, EachPenaltyOfGeneratedTokensAppliesWithoutTheOther) {
  const auto scores_after = [](double presence, double frequency) {
    TokenRules rules;
    rules.presence_penalty = presence, rules.frequency_penalty = frequency;
    const std::vector<std::int32_t> prompt{0}, generated{1, 2, 1};
    std::vector<float> scores(4, 1.0f);
    std::vector<std::int32_t> history;
    apply(rules, {.source = {}, .prompt = prompt, .generated = generated, .end_tokens = {}, .max_new = 20},
          scores, history);
    return scores;
  };
  EXPECT_EQ(scores_after(0.0, 0.0), (std::vector<float>{1.0f, 1.0f, 1.0f, 1.0f}));
  EXPECT_EQ(scores_after(0.5, 0.0), (std::vector<float>{1.0f, 0.5f, 0.5f, 1.0f}));
  EXPECT_EQ(scores_after(0.0, 0.25), (std::vector<float>{1.0f, 0.5f, 0.75f, 1.0f}));
  EXPECT_EQ(scores_after(-0.5, 0.0), (std::vector<float>{1.0f, 1.5f, 1.5f, 1.0f}));
}

// After start + n new tokens, the score s of an end token is s + |s| · (factorⁿ − 1).
TEST(TokenRules, ThePenaltyOfLengthGrowsAfterItsStart) {
  TokenRules rules;
  rules.ending = {2, 2.0};
  const auto scores_after = [&](std::size_t generated) {
    const std::vector<std::int32_t> prompt{4}, written(generated, 7), end{1, 2, 3};
    std::vector<float> scores{1.0f, 1.0f, -1.0f, -std::numeric_limits<float>::infinity(), 1.0f};
    std::vector<std::int32_t> history;
    apply(rules, {.source = {}, .prompt = prompt, .generated = written, .end_tokens = end, .max_new = 20},
          scores, history);
    EXPECT_EQ(scores[3], -std::numeric_limits<float>::infinity()) << "a forbidden token stays forbidden";
    return std::vector<float>{scores[0], scores[1], scores[2], scores[4]};
  };
  EXPECT_EQ(scores_after(2), (std::vector<float>{1.0f, 1.0f, -1.0f, 1.0f}));
  EXPECT_EQ(scores_after(3), (std::vector<float>{1.0f, 2.0f, 0.0f, 1.0f}));
  EXPECT_EQ(scores_after(5), (std::vector<float>{1.0f, 8.0f, 6.0f, 1.0f}));
}

// The number of tokens since the start of the penalty may be too large for 64-bit integers.
TEST(TokenRules, ThePenaltyOfLengthMayStartAtAnyInteger) {
  for (const std::int64_t start : {std::int64_t{-1000}, std::numeric_limits<std::int64_t>::min()}) {
    TokenRules rules;
    rules.ending = {start, 1.1};
    const std::vector<std::int32_t> prompt{4}, written{7}, end{2};
    std::vector<float> scores(10, -1.0f);
    std::vector<std::int32_t> history;
    apply(rules, {.source = {}, .prompt = prompt, .generated = written, .end_tokens = end, .max_new = 20},
          scores, history);
    EXPECT_GT(scores[2], 0.0f) << start;
    EXPECT_EQ(scores[3], -1.0f);
  }
}

// forced_first applies only directly after a prompt of one token (the start token); suppressed_first then
// applies to the second token. As in transformers, token 0 can be forced.
TEST(TokenRules, TheFirstTokensAreForcedOrSuppressed) {
  using Tokens = std::vector<std::int32_t>;
  TokenRules rules;
  const auto forbidden = [&](const Tokens& prompt, const Tokens& written) {
    std::vector<float> scores(5, 0.5f);
    Tokens history, ids;
    apply(rules, {.source = {}, .prompt = prompt, .generated = written, .end_tokens = {}, .max_new = 20},
          scores, history);
    for (std::int32_t id = 0; id < 5; ++id)
      if (std::isinf(scores[static_cast<std::size_t>(id)])) ids.push_back(id);
    return ids;
  };
  EXPECT_TRUE(rules.change_nothing());
  rules.suppressed_first = {4};
  EXPECT_EQ(forbidden({1}, {}), Tokens{4});
  EXPECT_EQ(forbidden({1}, {0}), Tokens{});
  rules.suppressed_first = {}, rules.forced_first = 0;
  EXPECT_FALSE(rules.change_nothing());
  rules.suppressed_first = {4};
  EXPECT_EQ(forbidden({1}, {}), (Tokens{1, 2, 3, 4}));
  EXPECT_EQ(forbidden({1}, {0}), Tokens{4});
  EXPECT_EQ(forbidden({1}, {0, 3}), Tokens{});
  EXPECT_EQ(forbidden({1, 2}, {}), Tokens{4}) << "a longer prompt";
  EXPECT_EQ(forbidden({1, 2}, {0}), Tokens{});
  rules.check(5);
  rules.forced_first = 5;
  EXPECT_REGARD_ERROR(rules.check(5), ErrorKind::usage, "forced_bos_token_id");
}

// forced_last allows only its tokens as the last of max_new tokens.
TEST(TokenRules, TheLastTokenIsForced) {
  TokenRules rules;
  const auto scores_after = [&](std::size_t generated) {
    const std::vector<std::int32_t> prompt{4, 4}, written(generated, 0);
    std::vector<float> scores(4, 0.5f);
    std::vector<std::int32_t> history;
    apply(rules, {.source = {}, .prompt = prompt, .generated = written, .end_tokens = {}, .max_new = 3},
          scores, history);
    return scores;
  };
  const float never = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(scores_after(2), std::vector<float>(4, 0.5f)) << "without the rule";
  rules.forced_last = {1, 3};
  EXPECT_EQ(scores_after(1), std::vector<float>(4, 0.5f));
  EXPECT_EQ(scores_after(2), (std::vector<float>{never, 0.0f, never, 0.0f}));
}

// The time of the penalties, per token or per occurrence, is not quadratic in the length of the text.
TEST(TokenRules, PenaltiesOfALongTextAreFast) {
  constexpr std::int32_t kTokens = 400000;
  std::vector<std::int32_t> prompt(kTokens), history;
  std::iota(prompt.begin(), prompt.end(), 0);
  const std::vector<std::int32_t> generated{3, 5, 3, 3};
  std::vector<float> scores(kTokens + 1, 2.0f);
  scores[4] = -2.0f;
  TokenRules rules;
  rules.repetition_penalty = 2.0, rules.presence_penalty = 0.25, rules.frequency_penalty = 0.5;
  const auto start = std::chrono::steady_clock::now();
  apply(rules, {.source = {}, .prompt = prompt, .generated = generated, .end_tokens = {}, .max_new = 20},
        scores, history);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(scores[2], 1.0f);
  EXPECT_EQ(scores[3], 1.0f - 0.25f - 3 * 0.5f);
  EXPECT_EQ(scores[4], -4.0f);
  EXPECT_EQ(scores[5], 1.0f - 0.25f - 0.5f);
  EXPECT_EQ(scores[kTokens], 2.0f);
}

}  // namespace
}  // namespace regard::infer
