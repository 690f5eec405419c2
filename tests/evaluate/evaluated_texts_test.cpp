// Evaluations of translations and of language models: facts, lines, rows, and limits.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "evaluate/conversations.h"
#include "evaluate/language_model.h"
#include "evaluate/translation.h"
#include "metrics/chrf.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::evaluate {
namespace {

class EvaluatedTexts : public ::testing::Test {
 protected:
  infer::LoadedModel& open(const std::string& name, std::int64_t positions = 0) {
    testing::write_text_model(folder_ / name, name, positions);
    return model_.emplace(infer::LoadedModel::open(folder_ / name));
  }
  std::string written(const std::string& name, const std::string& content) {
    return testing::write_file(folder_.path(), name, content).string();
  }
  testing::TemporaryFolder folder_;
  std::optional<infer::LoadedModel> model_;
  ThreadPool pool_{2};
};

TEST_F(EvaluatedTexts, Translations) {
  infer::LoadedModel& model = open("translator");
  const DataOptions data{.files = {written("a", "the fox\n\nan apple\n"),
                                   written("b", "der fuchs\nein\nobst\n"), written("c", "fuchs\n\napfel\n")}};
  const Evaluation result = translation({model, pool_}, data, {});
  EXPECT_EQ(result.task, "translation");
  EXPECT_EQ(result.row_score, "chrf");
  ASSERT_EQ(result.rows.size(), 3u);
  EXPECT_EQ(result.rows[0].input, "the fox");
  EXPECT_EQ(result.rows[0].expected, Json({"der fuchs", "fuchs"}));
  EXPECT_EQ(result.rows[1].output, "") << "an empty line has no translation";
  EXPECT_NE(result.rows[2].output, "");
  for (const EvaluatedRow& row : result.rows) {
    const auto references = row.expected.get<std::vector<std::string>>();
    EXPECT_NEAR(row.score, metrics::sentence_chrf(row.output.get<std::string>(), references), 1e-9);
  }
  EXPECT_EQ(result.facts["sentences"], 3);
  EXPECT_EQ(result.facts["beam"], model.options.beam);
  const double loss = result.facts["loss"], perplexity = result.facts["perplexity"];
  EXPECT_NEAR(perplexity, std::exp(loss), 1e-6 * perplexity);
  const std::int64_t tokens = result.facts["target_tokens"];
  EXPECT_EQ(
      result.lines[0],
      fmt::format("sentences   3\nloss        {:.4f} nats per target token ({} tokens)\nperplexity  {:.2f}",
                  loss, tokens, perplexity));
  for (const Score& score : result.scores) {
    std::vector<std::uint32_t> all(3);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_NEAR(score.statistics.scorer(score.statistics.rows)(all), score.value, 1e-3) << score.name;
    EXPECT_TRUE(result.facts.contains(score.name + "_signature"));
  }
  EXPECT_EQ(result.lines[3].substr(0, result.lines[3].find('\n')),
            fmt::format("TER = {:.2f}", result.scores[2].value));
  const Evaluation one = translation({model, pool_}, {.files = {data.files[0], data.files[2]}}, {});
  EXPECT_EQ(one.rows[2].expected, "apfel");
  EXPECT_REGARD_ERROR(
      translation({model, pool_}, {.files = {data.files[0]}}, {}), ErrorKind::usage,
      "the evaluation of a translation model requires a source and a reference (expected SOURCE "
      "REFERENCE…, line-aligned, found 1 file)");
  EXPECT_REGARD_ERROR(translation({model, pool_}, {.files = {written("e", ""), written("f", "")}}, {}),
                      ErrorKind::bad_file,
                      "the data has no rows to evaluate (expected at least one row that is");
}

TEST_F(EvaluatedTexts, OfALanguageModel) {
  infer::LoadedModel& model = open("gpt", 16);
  const std::string text = written("a", "the fox an apple\nthe fox\n");
  const Evaluation result = language_model({model, pool_}, {.files = {text}}, 0);
  EXPECT_EQ(result.facts["context"], 16);
  EXPECT_EQ(result.facts["words"], 6);
  EXPECT_EQ(result.facts["bytes"], 25);
  const double loss = result.facts["loss"];
  const std::int64_t tokens = result.facts["tokens"];
  const double total = loss * static_cast<double>(tokens);
  EXPECT_NEAR(result.facts["perplexity"].get<double>(), std::exp(loss), 1e-6 * std::exp(loss));
  EXPECT_NEAR(result.facts["byte_perplexity"].get<double>(), std::exp(total / 25),
              1e-6 * std::exp(total / 25));
  EXPECT_NEAR(result.facts["bits_per_byte"].get<double>(), total / 25 / std::log(2.0), 1e-9);
  const double of_words = result.facts["word_perplexity"];
  EXPECT_NEAR(of_words, std::exp(total / 6), 1e-6 * std::exp(total / 6));
  EXPECT_EQ(
      result.lines,
      (std::vector<std::string>{
          fmt::format("tokens           {}\nloss             {:.4f} nats per token\nperplexity       {:.2f}",
                      tokens, loss, std::exp(loss)),
          fmt::format("  per word       {:.2f} (6 words)", of_words),
          fmt::format("  per byte       {:.4f} (25 bytes, {:.4f} bits per byte)", std::exp(total / 25),
                      total / 25 / std::log(2.0))}));
  EXPECT_EQ(language_model({model, pool_}, {.files = {text}}, 15).facts["context"], 15);
  EXPECT_REGARD_ERROR(
      language_model({model, pool_}, {.files = {text}}, 17), ErrorKind::usage,
      "the context exceeds the model's maximum number of positions (expected at most 16 tokens, "
      "found a context of 17 tokens)");
  EXPECT_REGARD_ERROR(language_model({model, pool_}, {.files = {written("b", "")}}, 0), ErrorKind::usage,
                      "the text is too short to evaluate on (expected at least 2, found 0 tokens)");
  const Evaluation blank = language_model({model, pool_}, {.files = {written("b", "   \n")}}, 0);
  EXPECT_FALSE(blank.facts.contains("word_perplexity"));
  EXPECT_EQ(blank.lines.size(), 2u);
}

// The default context is the maximum number of positions, or 1024 tokens if the model has none.
TEST_F(EvaluatedTexts, ContextsOfAModelWithoutMaximumPositions) {
  infer::LoadedModel& model = open("llama");
  const DataOptions data{.files = {written("a", "the fox")}};
  EXPECT_EQ(language_model({model, pool_}, data, 0).facts["context"], 1024);
  EXPECT_EQ(language_model({model, pool_}, data, 5000).facts["context"], 5000);
}

TEST_F(EvaluatedTexts, ContextsOfConversations) {
  infer::LoadedModel& model = open("gpt", 80);
  const DataOptions data{
      .files = {
          written("a.jsonl",
                  "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}, {\"role\": \"assistant\", "
                  "\"content\": \"yes\"}]}\n")}};
  const auto facts = [&](const ConversationOptions& options) {
    return conversations({model, pool_}, data, options).facts;
  };
  // The conversation has 66 tokens, of which all but the first are predicted.
  const Json whole = facts({.chat_template = "chatml"});
  EXPECT_EQ(whole["conversations"], 1);
  for (const std::int64_t context : {65, 80})
    EXPECT_EQ(facts({.chat_template = "chatml", .context = context})["tokens"], whole["tokens"]) << context;
  EXPECT_REGARD_ERROR(facts({.chat_template = "chatml", .context = 64}), ErrorKind::bad_file,
                      "the conversation is too long (expected at most 65 tokens, found 66 tokens)");
  EXPECT_LT(facts({.chat_template = "chatml", .context = 60, .cut = true})["tokens"], whole["tokens"]);
  EXPECT_REGARD_ERROR(facts({.chat_template = "chatml", .context = 81}), ErrorKind::usage,
                      "the context exceeds the model's maximum number of positions (expected at most 80 "
                      "tokens, found a context of 81 tokens)");
}

}  // namespace
}  // namespace regard::evaluate
