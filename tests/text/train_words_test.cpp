// Word tokenizers: the trainer gives the same vocabulary as the reference trainer, and texts are encoded and
// decoded correctly.
#include "text/train_words.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "support/shared_data.h"

namespace regard::text {
namespace {

LineSource word_corpus() {
  return lines_of_files({testing::golden("tokenizer-training/corpus.txt")}, false);
}

const std::map<std::string, WordRule> kRules = {
    {"spaces", WordRule::spaces}, {"signs", WordRule::signs}, {"bert", WordRule::bert}};

TEST(TrainWords, VocabularyEqualsTheReference) {
  std::size_t seen = 0;
  for (const Json& entry : read_json(testing::golden("tokenizer-training/trained.json").string())) {
    if (entry.at("type") != "word") continue;
    ++seen;
    WordTrainingOptions options;
    options.vocabulary_size = entry.at("vocab_size").get<std::size_t>();
    options.min_frequency = entry.at("min_frequency").get<std::int64_t>();
    options.lower_case = entry.at("lower_case").get<bool>();
    options.words = kRules.at(entry.at("words").get<std::string>());
    const auto tokenizer = train_words(word_corpus(), options);
    const auto expected = entry.at("tokens").get<std::vector<std::string>>();
    ASSERT_EQ(tokenizer->vocabulary_size(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t id = 0; id < expected.size(); ++id)
      EXPECT_EQ(tokenizer->token_of(static_cast<std::int32_t>(id)), expected[id]);
  }
  EXPECT_EQ(seen, 3u);
}

TEST(TrainWords, UnknownWordsAreUnkAndTheRestComesBack) {
  const std::vector<std::string> lines = {"one two two", "two three  three three <unk>"};
  WordTrainingOptions options;
  options.words = WordRule::spaces;
  options.end_token = true;
  const auto tokenizer = train_words(lines_of(lines), options);
  EXPECT_EQ(tokenizer->vocabulary_size(), 7);  // the word "<unk>" is the special token
  EXPECT_EQ(tokenizer->encode_ids("three one four"), (std::vector<std::int32_t>{4, 6, 1, 3}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode_ids("two one three")), "two one three");
  const auto again = Tokenizer::from_json(tokenizer->to_json(), "again");
  EXPECT_EQ(again->to_json(), tokenizer->to_json());
}

TEST(TrainWords, TheUnknownTokenIsAddedWhereItIsMissing) {
  const std::vector<std::string> lines = {"a b"};
  WordTrainingOptions options;
  options.special_tokens = {};
  options.unknown = "[UNK]";
  EXPECT_EQ(train_words(lines_of(lines), options)->id_of("[UNK]"), 0);
  options.vocabulary_size = 0;
  EXPECT_THROW(train_words(lines_of(lines), options), Error);
}

TEST(TrainWords, NoTextGivesTheSpecialTokens) {
  EXPECT_EQ(train_words(lines_of({}), {})->vocabulary_size(), 4);
}

}  // namespace
}  // namespace regard::text
