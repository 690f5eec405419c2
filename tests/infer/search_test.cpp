// Searches compared with reference implementations that recompute everything at each step, without a cache or
// a batch.
#include "infer/search.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/json.h"
#include "infer/scheduler.h"
#include "infer/search_overrides.h"
#include "plain_search.h"
#include "support/throws.h"

namespace regard::infer {
namespace {

using testing::opinionated_model;
using testing::Tokens;

SearchOptions translation_options() {
  SearchOptions options;
  options.start_token = 2;
  options.end_tokens = {3};
  options.max_new = 14;
  return options;
}

std::vector<Tokens> some_sources(const Network& model) {
  return testing::random_tokens({5, 1, 17, 9, 3, 30, 12}, model.source_vocabulary(), 31);
}

// An option of sampling is not ignored if a beam width is given, too.
TEST(SearchOverrides, OptionsOfSamplingSelectSampling) {
  SearchOptions folder;
  folder.sample = true;
  SearchOverrides given;
  given.beam = 2;
  EXPECT_FALSE(given.over(folder, 1).sample);
  given.temperature = 0.5;
  EXPECT_REGARD_ERROR(given.over(folder, 1), ErrorKind::usage, "sampling cannot be combined");
  given.beam = 1;
  EXPECT_TRUE(given.over({}, 1).sample);
  EXPECT_EQ(given.over({}, 1).temperature, 0.5);
}

struct BeamCase {
  std::int64_t beam;
  double length_penalty;
  EarlyStopping early_stopping;
  Tokens end_tokens;
};

TEST(BeamSearch, FindsWhatThePlainSearchFinds) {
  const BeamCase cases[] = {{2, 1.0, EarlyStopping::no, {3}},
                            {3, 0.0, EarlyStopping::no, {3, 5, 14}},
                            {4, 0.6, EarlyStopping::yes, {3, 30}},
                            {5, 2.0, EarlyStopping::never, {3}},
                            {4, 1.0, EarlyStopping::never, {3, 9, 20}},
                            {3, -1.0, EarlyStopping::never, {3}},
                            {4, 1.0, EarlyStopping::no, {}}};
  ThreadPool pool(2);
  std::int64_t ended = 0, cut = 0;
  for (const std::string name : {"translator", "postnorm"}) {
    const std::unique_ptr<Network> model = opinionated_model(name);
    std::vector<Tokens> sources = some_sources(*model);
    sources.resize(4);
    for (const BeamCase& one : cases) {
      SearchOptions options = translation_options();
      options.beam = options.n_best = one.beam;
      options.length_penalty = one.length_penalty;
      options.early_stopping = one.early_stopping;
      options.end_tokens = one.end_tokens;
      const auto results = translate(*model, pool, sources, options);
      ASSERT_EQ(results.size(), sources.size());
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto truth = testing::plain_beam_search(*model, sources[i], options);
        ASSERT_EQ(results[i].size(), truth.size()) << name << ", beam " << one.beam << ", source " << i;
        for (std::size_t n = 0; n < truth.size(); ++n) {
          EXPECT_EQ(results[i][n].tokens, truth[n].tokens)
              << name << ", beam " << one.beam << ", source " << i << ", place " << n;
          EXPECT_NEAR(results[i][n].score, truth[n].score, 1e-4);
          (results[i][n].ended ? ended : cut) += 1;
        }
      }
    }
  }
  EXPECT_GT(ended, 20) << "no hypothesis ended by itself: the test shows little";
  EXPECT_GT(cut, 20);
}

TEST(Greedy, FindsWhatThePlainSearchFinds) {
  ThreadPool pool(2);
  for (const std::string name : {"translator", "postnorm"}) {
    const std::unique_ptr<Network> model = opinionated_model(name);
    const std::vector<Tokens> sources = some_sources(*model);
    SearchOptions options = translation_options();
    options.end_tokens = {3, 8, 11, 30};
    options.length_penalty = 0.7;
    const auto results = translate(*model, pool, sources, options);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto truth = testing::plain_greedy(*model, sources[i], {options.start_token}, options);
      ASSERT_EQ(results[i].size(), 1u);
      EXPECT_EQ(results[i][0].tokens, truth.tokens);
      EXPECT_EQ(results[i][0].ended, truth.stopped);
      EXPECT_NEAR(results[i][0].score, truth.score, 1e-4);
    }
  }
}

TEST(Greedy, ContinuesPrompts) {
  ThreadPool pool(2);
  for (const std::string name : {"gpt", "llama"}) {
    const std::unique_ptr<Network> model = opinionated_model(name);
    const std::vector<Tokens> prompts = testing::random_tokens({1, 20, 7}, model->vocabulary(), 5);
    SearchOptions options;
    options.max_new = 12;
    const auto results = generate(*model, pool, prompts, options);
    for (std::size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(results[i][0].tokens, testing::plain_greedy(*model, {}, prompts[i], options).tokens);
  }
}

// When the model has no positions left, generation continues from the second half of the context.
TEST(Greedy, GoesOnWherePositionsRunOut) {
  ThreadPool pool(1);
  TransformerConfig config = testing::tiny_config("gpt");
  config.max_positions = 8;
  const std::unique_ptr<Network> model = make_transformer(config);
  initialise(*model, 4);
  const std::vector<Tokens> prompts = testing::random_tokens({5}, model->vocabulary(), 5);
  SearchOptions options;
  options.max_new = 20;
  const auto results = generate(*model, pool, prompts, options);
  Tokens all = prompts[0], context = prompts[0];
  for (int step = 0; step < 20; ++step) {
    if (context.size() > 8) context.assign(all.end() - 4, all.end());
    const auto log_p = testing::next_log_probabilities(*model, {}, context);
    const auto token =
        static_cast<std::int32_t>(std::max_element(log_p.begin(), log_p.end()) - log_p.begin());
    all.push_back(token);
    context.push_back(token);
  }
  EXPECT_EQ(results[0][0].tokens, Tokens(all.begin() + 5, all.end()));
}

TEST(Sampling, IsKeyedByTheSeedAndNeverLeavesTheNucleus) {
  ThreadPool pool(2);
  const std::unique_ptr<Network> model = opinionated_model("gpt");
  const std::vector<Tokens> prompts = testing::random_tokens({4, 4}, model->vocabulary(), 6);
  SearchOptions options;
  options.max_new = 20;
  options.sample = true;
  options.n_best = 3;
  const auto first = generate(*model, pool, prompts, options),
             again = generate(*model, pool, prompts, options);
  for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(first[0][n].tokens, again[0][n].tokens);
  EXPECT_NE(first[0][0].tokens, first[0][1].tokens);
  options.seed = 2;
  EXPECT_NE(generate(*model, pool, prompts, options)[0][0].tokens, first[0][0].tokens);
  options.top_k = 1;
  const auto narrow = generate(*model, pool, prompts, options);
  EXPECT_EQ(narrow[0][2].tokens, testing::plain_greedy(*model, {}, prompts[0], options).tokens);
}

// Over many seeds, the frequency of each first token equals its probability.
TEST(Sampling, DrawsByProbability) {
  ThreadPool pool(2);
  const std::unique_ptr<Network> model = opinionated_model("gpt");
  const Tokens prompt{7, 3};
  SearchOptions options;
  options.max_new = 1;
  options.sample = true;
  options.n_best = 4000;
  options.temperature = 0.8;
  std::map<std::int32_t, double> share;
  const auto results = generate(*model, pool, std::vector<Tokens>{prompt}, options);
  for (const Hypothesis& one : results[0]) share[one.tokens[0]] += 1.0 / 4000.0;
  const std::vector<double> log_p = testing::next_log_probabilities(*model, {}, prompt);
  double total = 0.0;
  for (const double value : log_p) total += std::exp(value / 0.8);
  for (std::size_t token = 0; token < log_p.size(); ++token) {
    const double p = std::exp(log_p[token] / 0.8) / total;
    EXPECT_NEAR(share[static_cast<std::int32_t>(token)], p, 5.0 * std::sqrt(p * (1 - p) / 4000.0) + 1e-9)
        << token;
  }
}

TEST(Search, RefusesWhatDoesNotFit) {
  ThreadPool pool(1);
  const std::unique_ptr<Network> translator = opinionated_model("translator"), gpt = opinionated_model("gpt");
  const std::vector<Tokens> good{{4, 5}}, outside{{4, 37}}, nothing{{}}, long_one{Tokens(201, 4)};
  const SearchOptions options = translation_options();
  SearchOptions bad = options;
  bad.beam = 0;
  EXPECT_REGARD_ERROR(translate(*translator, pool, good, bad), ErrorKind::usage, "beam");
  bad = options, bad.n_best = 2;
  EXPECT_REGARD_ERROR(translate(*translator, pool, good, bad), ErrorKind::usage, "at most the beam");
  bad = options, bad.sample = true, bad.beam = 2;
  EXPECT_REGARD_ERROR(translate(*translator, pool, good, bad), ErrorKind::usage,
                      "sampling cannot be combined");
  bad = options, bad.start_token = -1;
  EXPECT_REGARD_ERROR(translate(*translator, pool, good, bad), ErrorKind::usage, "start token");
  bad = options, bad.end_tokens = {3, 37}, bad.rules.min_new = 3;
  EXPECT_REGARD_ERROR(translate(*translator, pool, good, bad), ErrorKind::usage, "eos_token_id");
  EXPECT_REGARD_ERROR(generate(*gpt, pool, good, bad), ErrorKind::usage, "found 37");
  EXPECT_REGARD_ERROR(translate(*translator, pool, outside, options), ErrorKind::invalid_input, "found 37");
  EXPECT_REGARD_ERROR(translate(*translator, pool, nothing, options), ErrorKind::invalid_input,
                      "without tokens");
  EXPECT_REGARD_ERROR(generate(*gpt, pool, nothing, options), ErrorKind::invalid_input, "without tokens");
  EXPECT_REGARD_ERROR(generate(*gpt, pool, long_one, options), ErrorKind::invalid_input, "found 201 tokens");
  EXPECT_REGARD_ERROR(translate(*gpt, pool, good, options), ErrorKind::usage, "expected an encoder-decoder");
  EXPECT_REGARD_ERROR(generate(*translator, pool, good, options), ErrorKind::usage,
                      "not a decoder-only model");
}

// The rules forbid each token after its first occurrence, so that no continuation is left.
TEST(BeamSearch, KeepsTheHypothesesThatNoTokenCanContinue) {
  ThreadPool pool(1);
  const std::unique_ptr<Network> model = opinionated_model("gpt");
  SearchOptions options;
  options.beam = options.n_best = 2, options.max_new = 60, options.rules.no_repeat_ngram = 1;
  const std::vector<Tokens> prompts{{4, 5}};
  const auto results = generate(*model, pool, prompts, options);
  ASSERT_EQ(results[0].size(), 2u);
  EXPECT_GE(results[0][0].score, results[0][1].score);
  for (const Hypothesis& one : results[0]) {
    EXPECT_EQ(std::ssize(one.tokens), model->vocabulary() - 2);
    EXPECT_EQ(std::set(one.tokens.begin(), one.tokens.end()).size(), one.tokens.size());
    EXPECT_FALSE(one.ended);
  }
  for (std::int32_t id = 0; id < model->vocabulary(); ++id) options.rules.suppressed.push_back(id);
  EXPECT_REGARD_ERROR(generate(*model, pool, prompts, options), ErrorKind::numeric, "exclude every token");
}

// If log-probabilities are computed after the rules, they are undefined when the rules exclude every token.
TEST(Search, RefusesRulesThatExcludeEveryTokenIfScoresFollowTheRules) {
  ThreadPool pool(1);
  const std::unique_ptr<Network> model = opinionated_model("gpt");
  const std::vector<Tokens> prompts{{4, 5}};
  for (const bool sample : {false, true}) {
    SearchOptions options;
    options.max_new = 3, options.sample = sample, options.rules.scores_after_rules = true;
    for (std::int32_t id = 0; id < model->vocabulary(); ++id) options.rules.suppressed.push_back(id);
    EXPECT_REGARD_ERROR(generate(*model, pool, prompts, options), ErrorKind::numeric, "exclude every token");
  }
}

// The tokenizer removes the space before the first word of a text, but keeps the space before the first
// generated word after a prompt.
TEST(Search, StopsAtAStringThatBeginsWithASpace) {
  ThreadPool pool(1);
  const std::unique_ptr<Network> model = opinionated_model("gpt");
  Json vocabulary = Json::object();
  for (std::int64_t id = 0; id < model->vocabulary(); ++id) vocabulary["\u2581" + std::to_string(id)] = id;
  const Json metaspace{{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
  const auto tokenizer = text::Tokenizer::from_json(
      {{"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "\u25810"}}},
       {"pre_tokenizer", metaspace},
       {"decoder", metaspace}},
      "tokenizer.json");
  const std::vector<Tokens> prompts{{4, 5}};
  SearchOptions options;
  options.max_new = 20;
  const std::int32_t first = generate(*model, pool, prompts, options)[0][0].tokens[0];
  options.stop_strings =
      std::make_shared<StopStrings>(tokenizer, std::vector<std::string>{" " + std::to_string(first)});
  const Hypothesis stopped = generate(*model, pool, prompts, options)[0][0];
  EXPECT_EQ(stopped.tokens, Tokens{first});
  EXPECT_TRUE(stopped.stopped);
  const StopStrings stops(tokenizer, {" 5", "4 5", "7 8 9"});
  EXPECT_TRUE(stops.ended_by(Tokens{4}, Tokens{5}));
  EXPECT_FALSE(stops.ended_by({}, Tokens{5}));
  EXPECT_FALSE(stops.ended_by(Tokens{4, 5}, Tokens{6})) << "the prompt has no effect";
  EXPECT_FALSE(stops.ended_by(Tokens{7, 8}, Tokens{9}));
  EXPECT_TRUE(stops.ended_by(Tokens{1}, Tokens{6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 9}));
}

TEST(Search, SaysWhenTheModelIsBroken) {
  ThreadPool pool(1);
  const std::unique_ptr<Network> model = opinionated_model("gpt");
  model->parameters()[0]->value().f32()[5 * 32] = std::nanf("");
  const std::vector<Tokens> prompts{{5}};
  EXPECT_REGARD_ERROR(generate(*model, pool, prompts, {}), ErrorKind::numeric, "logits are not finite");
}

}  // namespace
}  // namespace regard::infer
