// SearchOptions::report_top: Listener::chosen() reports every chosen token with its most probable
// alternatives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "session_case.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using infer::TokenChoice;

class ChoiceRecord : public infer::SessionListener {
 public:
  void chosen(std::uint64_t, std::int64_t sequence, const TokenChoice& choice) override {
    choices[sequence].push_back(choice);
  }
  void finished(std::uint64_t, std::vector<Hypothesis> hypotheses) override {
    results = std::move(hypotheses);
  }
  void failed(std::uint64_t, const Error& error) override { ADD_FAILURE() << error.what(); }

  std::map<std::int64_t, std::vector<TokenChoice>> choices;
  std::vector<Hypothesis> results;
};

ChoiceRecord record_of(Network& model, const SearchOptions& options, const Tokens& text) {
  ThreadPool pool(2);
  ChoiceRecord record;
  infer::Sessions sessions(model, pool, options, record);
  sessions.join(infer::request_of(model, text));
  while (sessions.step()) {
  }
  return record;
}

SearchOptions report_options(std::int64_t top) {
  SearchOptions options;
  options.start_token = 2, options.end_tokens = {3}, options.max_new = 12, options.report_top = top;
  return options;
}

TEST(ChoiceReport, HasEveryTokenOfEverySequenceWithItsLogProbability) {
  for (const std::string name : {"gpt", "translator"}) {
    const std::unique_ptr<Network> model = session_model(name);
    SearchOptions options = report_options(0);
    options.sample = true, options.n_best = 3, options.seed = 5;
    const ChoiceRecord record = record_of(*model, options, {4, 5, 6, 7});
    ASSERT_EQ(record.results.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      const Hypothesis& hypothesis = record.results[i];
      const auto& choices = record.choices.at(static_cast<std::int64_t>(i));
      ASSERT_EQ(choices.size(), hypothesis.tokens.size()) << name;
      for (std::size_t t = 0; t < choices.size(); ++t) {
        EXPECT_EQ(choices[t].token.token, hypothesis.tokens[t]);
        EXPECT_EQ(choices[t].token.log_probability, hypothesis.token_log_probabilities[t]);
        EXPECT_TRUE(choices[t].top.empty());
      }
    }
  }
}

TEST(ChoiceReport, TopTokensAreTheMostProbableAndGreedySearchTakesTheFirst) {
  const std::unique_ptr<Network> model = session_model("gpt");
  const ChoiceRecord record = record_of(*model, report_options(5), {4, 5, 6, 7});
  ASSERT_FALSE(record.choices.at(0).empty());
  for (const TokenChoice& choice : record.choices.at(0)) {
    ASSERT_EQ(choice.top.size(), 5u);
    EXPECT_EQ(choice.top[0].token, choice.token.token);
    EXPECT_EQ(choice.top[0].log_probability, choice.token.log_probability);
    EXPECT_TRUE(std::is_sorted(choice.top.begin(), choice.top.end(), [](const auto& a, const auto& b) {
      return a.log_probability > b.log_probability;
    }));
  }
  // If all tokens of the vocabulary are reported, their probabilities sum to 1.

  const ChoiceRecord all = record_of(*model, report_options(1 << 20), {4, 5, 6, 7});
  double sum = 0.0;
  for (const auto& one : all.choices.at(0)[0].top) sum += std::exp(static_cast<double>(one.log_probability));
  EXPECT_EQ(std::ssize(all.choices.at(0)[0].top), model->vocabulary());
  EXPECT_NEAR(sum, 1.0, 1e-5);
}

TEST(ChoiceReport, DoesNotChangeTheResults) {
  const std::unique_ptr<Network> model = session_model("llama");
  const ChoiceRecord with = record_of(*model, report_options(3), {4, 5, 6, 7});
  const ChoiceRecord without = record_of(*model, report_options(-1), {4, 5, 6, 7});
  EXPECT_TRUE(without.choices.empty());
  EXPECT_TRUE(same_bits(with.results, without.results));
}

TEST(GeneratedPenalties, AreSubtractedOnceAndForEachOccurrence) {
  infer::TokenRules rules;
  EXPECT_TRUE(rules.change_nothing());
  rules.presence_penalty = 0.5, rules.frequency_penalty = 0.25;
  EXPECT_FALSE(rules.change_nothing());
  const Tokens prompt = {0}, generated = {1, 2, 1};
  std::vector<float> scores = {1.0f, 1.0f, 1.0f, 1.0f};
  std::vector<std::int32_t> history;
  apply(rules, {.source = prompt, .prompt = prompt, .generated = generated, .end_tokens = {}, .max_new = 9},
        scores, history);
  // The prompt's tokens keep their scores, as in OpenAI's API.
  EXPECT_EQ(scores, (std::vector<float>{1.0f, 0.0f, 0.25f, 1.0f}));
}

}  // namespace
}  // namespace regard::testing
