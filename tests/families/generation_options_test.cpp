// Random combinations of generation options, compared with the output of transformers (written by
// bench/generation_options.py --write): ids equal, scores and log-probabilities of the tokens close.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "infer/folder_options.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

using Ids = std::vector<std::int32_t>;

// seed of the uniform random numbers in the golden results of sampling
constexpr std::uint64_t kSeed = 11;

struct GenerationFolder {
  explicit GenerationFolder(const std::string& name)
      : folder(formats::ModelFolder::open(testing::golden("hf-tiny/" + name))), model(load_model(folder)) {}
  formats::ModelFolder folder;
  std::unique_ptr<Network> model;
};

// Return ids without padding: those with mask 1, or all if there is no mask.
Ids bare(const Json& ids, const Json* mask) {
  Ids row;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (mask == nullptr || mask->at(i) != 0) row.push_back(ids[i].get<std::int32_t>());
  return row;
}

struct Row {
  Ids tokens;
  std::vector<double> each;
  double score = 0.0;
  bool there = true;  // false if transformers had too few hypotheses and filled this row
};

Row golden_row(const Json& golden, std::size_t row, std::size_t start) {
  Row expected;
  const Ids all = bare(golden["ids"][row], nullptr);
  expected.tokens.assign(all.begin() + static_cast<std::ptrdiff_t>(start), all.end());
  expected.each = golden["log_probabilities"][row].get<std::vector<double>>();
  if (golden.contains("scores")) expected.score = golden["scores"][row].get<double>();
  expected.there = expected.score > -1e8;
  return expected;
}

void expect_row(const infer::Hypothesis& found, Row expected, bool beams) {
  ASSERT_LE(found.tokens.size(), expected.tokens.size());
  for (std::size_t i = found.tokens.size(); i < expected.tokens.size(); ++i)
    EXPECT_EQ(expected.tokens[i], expected.tokens.back()) << "only padding is behind the end";
  expected.tokens.resize(found.tokens.size());
  EXPECT_EQ(found.tokens, expected.tokens);
  ASSERT_EQ(found.token_log_probabilities.size(), found.tokens.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < found.tokens.size(); ++i) {
    const double value = static_cast<double>(found.token_log_probabilities[i]);
    sum += value;
    if (expected.each[i] > -1e8 || std::isfinite(value)) {
      EXPECT_NEAR(value, expected.each[i], 1e-5 * std::max(1.0, std::abs(expected.each[i]))) << "token " << i;
    }
  }
  if (std::isfinite(sum)) {
    EXPECT_NEAR(sum, static_cast<double>(found.log_probability), 1e-4 * (1.0 + std::abs(sum)));
  }
  if (beams) {
    EXPECT_NEAR(static_cast<double>(found.score), expected.score,
                1e-4 * std::max(1.0, std::abs(expected.score)));
  }
}

infer::SearchOptions options_of(formats::ModelFolder folder, const Json& golden, std::size_t prompt) {
  if (!folder.generation_config) folder.generation_config = Json::object();
  for (const auto& [key, value] : golden["arguments"].items()) (*folder.generation_config)[key] = value;
  infer::SearchOptions options = infer::search_options_of(folder);
  options.seed = kSeed;
  // In transformers, max_length counts the prompt with its padding.
  if (options.max_new == 0 && options.max_length > 0)
    options.max_new = options.max_length - static_cast<std::int64_t>(prompt);
  return options;
}

// Without generation_config.json, transformers reads the options from config.json. Keys that are missing
// there are read from its "decoder".
TEST(GenerationOptions, AreReadFromOldConfigs) {
  formats::ModelFolder folder;
  folder.config = {
      {"bos_token_id", 0},
      {"force_bos_token_to_be_generated", true},
      {"max_length", 142},
      {"num_beams", 4},
      {"eos_token_id", nullptr},
      {"decoder",
       {{"num_beams", 1}, {"eos_token_id", 2}, {"decoder_start_token_id", 3}, {"no_repeat_ngram_size", 5}}}};
  infer::SearchOptions options = infer::search_options_of(folder);
  EXPECT_EQ(options.rules.forced_first, 0);
  EXPECT_EQ(options.max_new, 141);
  EXPECT_EQ(options.beam, 4);
  EXPECT_EQ(options.end_tokens, Ids{2});
  EXPECT_EQ(options.start_token, 3);
  EXPECT_EQ(options.rules.no_repeat_ngram, 5);
  folder.generation_config = Json{{"eos_token_id", 9}};
  options = infer::search_options_of(folder);
  EXPECT_EQ(options.end_tokens, Ids{9});
  EXPECT_EQ(options.beam, 1);
  EXPECT_EQ(options.start_token, 0);
}

TEST(GenerationOptions, RandomCombinationsGiveWhatTransformersGives) {
  const Json cases = read_json((testing::golden("generation-options.json")).string());
  EXPECT_EQ(cases.size(), 72u);
  std::map<std::string, GenerationFolder> folders;
  ThreadPool pool(2);
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const Json& golden = cases[number];
    const auto name = golden["folder"].get<std::string>();
    SCOPED_TRACE(std::to_string(number) + ": " + name + " " + golden["arguments"].dump());
    GenerationFolder& opened = folders.try_emplace(name, name).first->second;
    std::vector<Ids> given;
    for (std::size_t row = 0; row < golden["input_ids"].size(); ++row)
      given.push_back(bare(golden["input_ids"][row], &golden["attention_mask"][row]));
    const bool decoder = opened.model->kind() == ModelKind::decoder;
    const std::size_t start = decoder ? golden["input_ids"][0].size() : 1;
    const infer::SearchOptions options = options_of(opened.folder, golden, start);
    const auto found = decoder ? infer::generate(*opened.model, pool, given, options)
                               : infer::translate(*opened.model, pool, given, options);
    const auto each = static_cast<std::size_t>(options.n_best);
    ASSERT_EQ(found.size() * each, golden["ids"].size());
    for (std::size_t row = 0; row < found.size() * each; ++row) {
      const Row expected = golden_row(golden, row, start);
      const std::vector<infer::Hypothesis>& of = found[row / each];
      ASSERT_EQ(row % each < of.size(), expected.there) << "row " << row;
      if (expected.there) expect_row(of[row % each], expected, options.beam > 1);
    }
  }
}

}  // namespace
}  // namespace regard::testing
