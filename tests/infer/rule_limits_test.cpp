// Rules of timestamps, log softmax after the rules, and values of rules that are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "infer/token_rules.h"
#include "support/throws.h"

namespace regard::infer {
namespace {

using RuleTokens = std::vector<std::int32_t>;

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

RuleTokens allowed_after(const TokenRules& rules, const RuleTokens& generated, std::vector<float> scores) {
  const RuleTokens prompt{4, 4};
  RuleTokens history, allowed;
  apply(rules, {.source = {}, .prompt = prompt, .generated = generated, .end_tokens = {}, .max_new = 20},
        scores, history);
  for (std::size_t id = 0; id < scores.size(); ++id)
    if (scores[id] > kForbidden) allowed.push_back(static_cast<std::int32_t>(id));
  return allowed;
}

// Ids 0 to 2 are text, 3 is the end token, 4 is another special token, 5 forbids timestamps, and 6 to 11 are
// timestamps. The expected tokens follow from WhisperTimeStampLogitsProcessor of transformers.
TEST(TimestampRules, AllowPairsOfIncreasingTimes) {
  TokenRules rules;
  rules.timestamps = {.first = 6, .end = 3};
  EXPECT_FALSE(rules.change_nothing());
  // The scores of text are so high that no sum of timestamps exceeds them.
  const std::vector<float> scores{9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(allowed_after(rules, {}, scores), (RuleTokens{6, 7, 8, 9, 10, 11})) << "a time is first";
  EXPECT_EQ(allowed_after(rules, {6}, scores), (RuleTokens{0, 1, 2, 3, 4})) << "text follows the first time";
  EXPECT_EQ(allowed_after(rules, {1}, scores), (RuleTokens{0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(allowed_after(rules, {6, 1}, scores), (RuleTokens{0, 1, 2, 3, 4, 7, 8, 9, 10, 11}))
      << "a segment takes time";
  EXPECT_EQ(allowed_after(rules, {6, 1, 8}, scores), (RuleTokens{3, 4, 8, 9, 10, 11}))
      << "the start of the next segment, or the end";
  EXPECT_EQ(allowed_after(rules, {6, 1, 8, 8}, scores), (RuleTokens{0, 1, 2, 3, 4}));
  EXPECT_EQ(allowed_after(rules, {6, 1, 8, 9, 2}, scores), (RuleTokens{0, 1, 2, 3, 4, 10, 11}));
  EXPECT_EQ(allowed_after(rules, {6, 1, 11, 11, 2}, scores), (RuleTokens{0, 1, 2, 3, 4}));
}

TEST(TimestampRules, LimitTheFirstTime) {
  TokenRules rules;
  const std::vector<float> scores(12, 0.0f);
  rules.timestamps = {.first = 6, .end = 3, .latest_first = 0};
  EXPECT_EQ(allowed_after(rules, {}, scores), RuleTokens{6});
  rules.timestamps->latest_first = 2;
  EXPECT_EQ(allowed_after(rules, {}, scores), (RuleTokens{6, 7, 8}));
  for (const std::int64_t all : {5, 6, 100}) {
    rules.timestamps->latest_first = all;
    EXPECT_EQ(allowed_after(rules, {}, scores).size(), 6u);
  }
}

TEST(TimestampRules, ForbidTextLessProbableThanAllTimesTogether) {
  TokenRules rules;
  rules.timestamps = {.first = 3, .end = 1};
  const float even = std::log(3.0f);  // the score of three times together
  const auto allowed = [&](float text, std::vector<float> times) {
    std::vector<float> scores{text, -5.0f, -5.0f};
    scores.insert(scores.end(), times.begin(), times.end());
    return allowed_after(rules, {0}, scores);
  };
  EXPECT_EQ(allowed(even + 0.01f, {0, 0, 0}), (RuleTokens{0, 1, 3, 4, 5}));
  EXPECT_EQ(allowed(even - 0.01f, {0, 0, 0}), (RuleTokens{3, 4, 5}));
  EXPECT_EQ(allowed(1.0f, {kForbidden, 1.0f, kForbidden}), (RuleTokens{0, 1, 4})) << "equal";
  EXPECT_EQ(allowed(-9.0f, {kForbidden, kForbidden, kForbidden}), (RuleTokens{0, 1})) << "no time is left";
}

TEST(Renormalisation, IsTheLogSoftmaxOfTheRemainingTokens) {
  TokenRules rules;
  rules.renormalise = true;
  EXPECT_FALSE(rules.change_nothing());
  rules.suppressed = {1};
  RuleTokens history;
  std::vector<float> scores{1.0f, 7.0f, 2.0f};
  apply(rules, {}, scores, history);
  const float total = std::log(std::exp(1.0f) + std::exp(2.0f));
  EXPECT_NEAR(scores[0], 1.0f - total, 1e-6);
  EXPECT_EQ(scores[1], kForbidden);
  EXPECT_NEAR(scores[2], 2.0f - total, 1e-6);
  rules.suppressed = {0, 1, 2};
  apply(rules, {}, scores, history);
  EXPECT_EQ(scores, std::vector<float>(3, kForbidden)) << "not a number would be chosen";
}

// Return rules of which one member has this value.
template <class Value>
TokenRules with(Value TokenRules::*member, const std::type_identity_t<Value>& value) {
  TokenRules rules;
  rules.*member = value;
  return rules;
}

TEST(TokenRules, EachRuleChangesSomething) {
  EXPECT_TRUE(TokenRules().change_nothing());
  for (const TokenRules& rules :
       {with(&TokenRules::encoder_repetition_penalty, 1.1), with(&TokenRules::repetition_penalty, 0.9),
        with(&TokenRules::no_repeat_ngram, 1), with(&TokenRules::encoder_no_repeat_ngram, 1),
        with(&TokenRules::bad_words, {{1}}), with(&TokenRules::min_length, 1), with(&TokenRules::min_new, 1),
        with(&TokenRules::forced_first, 0), with(&TokenRules::forced_last, {0}),
        with(&TokenRules::suppressed, {0}), with(&TokenRules::suppressed_first, {0}),
        with(&TokenRules::biases, {{{1}, 1.0}}), with(&TokenRules::ending, EndingPressure{0, 1.5}),
        with(&TokenRules::presence_penalty, -0.5), with(&TokenRules::frequency_penalty, 0.5),
        with(&TokenRules::scores_after_rules, true)}) {
    EXPECT_FALSE(rules.change_nothing());
    EXPECT_NO_THROW(rules.check(2));
  }
}

TEST(TokenRules, ValuesOutOfRangeAreRefused) {
  const double infinite = std::numeric_limits<double>::infinity();
  const auto refused = [](const TokenRules& rules, const std::string& message) {
    EXPECT_REGARD_ERROR(rules.check(12), ErrorKind::usage, message);
  };
  for (const double wrong : {0.0, -1.0, infinite}) {
    const char* const message =
        "a repetition penalty is out of range (expected a finite number above 0, found ";
    refused(with(&TokenRules::encoder_repetition_penalty, wrong), message + std::to_string(wrong));
    refused(with(&TokenRules::repetition_penalty, wrong), message + std::to_string(wrong));
  }
  const char* const finite =
      "a presence or frequency penalty is not finite (expected a finite number, found inf)";
  refused(with(&TokenRules::presence_penalty, infinite), finite);
  refused(with(&TokenRules::frequency_penalty, infinite), finite);
  refused(with(&TokenRules::bad_words, {{1}, {}}),
          "bad_words_ids has a sequence without tokens (expected at least one token in each sequence)");
  refused(with(&TokenRules::biases, {{{}, 1.0}}),
          "sequence_bias has a sequence without tokens (expected at least one token in each sequence)");
  const auto outside = [](const std::string& key, const char* id) {
    return key + " has an id outside the model's vocabulary (expected ids from 0 to 11, found " + id + ")";
  };
  refused(with(&TokenRules::bad_words, {{11}, {3, 12}}), outside("bad_words_ids", "12"));
  refused(with(&TokenRules::biases, {{{-1}, 1.0}}), outside("sequence_bias", "-1"));
  refused(with(&TokenRules::forced_first, 12), outside("forced_bos_token_id", "12"));
  refused(with(&TokenRules::forced_last, {12}), outside("forced_eos_token_id", "12"));
  refused(with(&TokenRules::suppressed, {0, 12}), outside("suppress_tokens", "12"));
  refused(with(&TokenRules::suppressed_first, {-1}), outside("begin_suppress_tokens", "-1"));
  refused(with(&TokenRules::ending, EndingPressure{3, 0.0}),
          "the factor of exponential_decay_length_penalty is not positive (expected a number above 0, found "
          "0.0");
  for (const TokenRules& rules :
       {with(&TokenRules::biases, {{{0, 11}, 1.0}}), with(&TokenRules::bad_words, {{0, 11}}),
        with(&TokenRules::forced_first, 11), with(&TokenRules::forced_last, {0, 11}),
        with(&TokenRules::suppressed, {0, 11}), with(&TokenRules::suppressed_first, {0, 11})})
    EXPECT_NO_THROW(rules.check(12));
  for (const TimestampRules& times : {TimestampRules{.first = 1, .end = 0}, {.first = 11, .end = 10}})
    EXPECT_NO_THROW(with(&TokenRules::timestamps, times).check(12));
  for (const TimestampRules& times : {TimestampRules{.first = 0, .end = 0},
                                      {.first = 12, .end = 0},
                                      {.first = 4, .end = 4},
                                      {.first = 4, .end = -1}})
    refused(with(&TokenRules::timestamps, times),
            "the first timestamp token is invalid (expected an id above that of the end token and below 12, "
            "found " +
                std::to_string(times.first) + ")");
}

}  // namespace
}  // namespace regard::infer
