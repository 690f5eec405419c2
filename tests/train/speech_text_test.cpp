// Conversion of transcripts to labels.
#include "train/speech_text.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::train {
namespace {

using Ids = std::vector<std::int32_t>;

// The special tokens have the names in tokenizer_config.json.
TEST(CtcCharacters, HaveTheSpecialTokensOfTheFolder) {
  const regard::testing::TemporaryFolder folder;
  regard::testing::write_file(folder.path(), "vocab.json",
                              R"({"[PAD]": 0, "a": 1, "b": 2, "[UNK]": 3, "_": 4, "<b>": 5})");
  regard::testing::write_file(
      folder.path(), "tokenizer_config.json",
      R"({"pad_token": "[PAD]", "unk_token": {"content": "[UNK]"}, "word_delimiter_token": "_"})");
  formats::ModelFolder model;
  model.path = folder.path();
  model.config_file = "config.json";
  model.config = {{"pad_token_id", 0}, {"vocab_size", 6}};
  const CtcCharacters characters(model);
  EXPECT_EQ(characters.encode("acb"), (Ids{1, 3, 2}));
  EXPECT_EQ(characters.encode("a  b"), (Ids{1, 4, 2}));
  EXPECT_EQ(characters.decode(Ids{0, 1, 3, 4, 2, 5}), "a b<b>");
}

// A tokenizer with the timestamps <|0.00|> to <|1.00|>.
class WhisperTokens : public ::testing::Test {
 protected:
  // Return `before`, the tokens of "ab" and `after`.
  Ids around(const Ids& before, const Ids& after) const {
    Ids ids = before;
    const Ids words = whisper_.encode("ab");
    ids.insert(ids.end(), words.begin(), words.end());
    ids.insert(ids.end(), after.begin(), after.end());
    return ids;
  }
  // Load the tokenizer from a folder whose generation_config.json has this content.
  WhisperText loaded(const std::string& settings) const {
    formats::ModelFolder model;
    model.path = model.tokenizer = folder_.path();
    model.generation_config = Json::parse(settings);
    return WhisperText(model);
  }

  const regard::testing::TemporaryFolder folder_;
  ThreadPool pool_{1};
  const std::vector<std::string> texts_{"ab"};
  const WhisperText whisper_{texts_, 300, 1, pool_};
  const std::int32_t last_ = static_cast<std::int32_t>(whisper_.vocabulary()) - 1, first_ = last_ - 50,
                     none_ = first_ - 1;
};

TEST_F(WhisperTokens, TimestampsAreBeforeAndAfterATextOfKnownLength) {
  ASSERT_EQ(whisper_.token_of(first_), "<|0.00|>");
  ASSERT_EQ(whisper_.token_of(last_), "<|1.00|>");
  ASSERT_EQ(whisper_.token_of(none_), "<|notimestamps|>");
  EXPECT_EQ(whisper_.beginning(), (Ids{whisper_.start(), none_}));
  EXPECT_EQ(whisper_.target("ab", -1.0), around({none_}, {}));
  EXPECT_EQ(whisper_.target("ab", 0.0), around({first_}, {first_}));
  EXPECT_EQ(whisper_.target("ab", 0.5), around({first_}, {first_ + 25}));
  EXPECT_EQ(whisper_.target("ab", 1.0), around({first_}, {last_}));
  EXPECT_EQ(whisper_.target("ab", 9.0), around({first_}, {last_})) << "the last timestamp is 1.00";
  EXPECT_EQ(whisper_.decode(whisper_.target("ab", 0.5)), "ab");
}

// In transformers, timestamps are not special tokens.
TEST_F(WhisperTokens, OnlyMarksAreSpecial) {
  const Json tokens = Json::parse(whisper_.files().at(0).second).at("added_tokens");
  std::vector<std::string> special;
  for (const Json& token : tokens)
    if (token.at("special") == true) special.push_back(token.at("content"));
  EXPECT_EQ(special, (std::vector<std::string>{"<|endoftext|>", "<|startoftranscript|>", "<|startofprev|>",
                                               "<|nospeech|>", "<|notimestamps|>"}));
  EXPECT_EQ(tokens.size(), special.size() + 51) << "0.00 to 1.00 in steps of 0.02";
}

TEST_F(WhisperTokens, OfOlderTokenizersHaveNoTimestamps) {
  Json tokenizer = Json::parse(whisper_.files().at(0).second);
  Json kept = Json::array();
  for (const Json& token : tokenizer.at("added_tokens"))
    if (token.at("id") <= none_) kept.push_back(token);
  tokenizer["added_tokens"] = kept;
  regard::testing::write_file(folder_.path(), "tokenizer.json", tokenizer.dump());
  const WhisperText older = loaded("{}");
  ASSERT_EQ(older.vocabulary(), none_ + 1);
  EXPECT_EQ(older.target("ab", 0.5), around({none_}, {}));
}

TEST_F(WhisperTokens, LanguageAndTaskAreThoseOfTheFolder) {
  regard::testing::write_file(folder_.path(), "tokenizer.json", whisper_.files().at(0).second);
  const WhisperText english = loaded(
      R"({"lang_to_id": {"<|de|>": 5, "<|en|>": 6}, "task_to_id": {"transcribe": 7, "translate": 8}})");
  EXPECT_EQ(english.beginning(), (Ids{english.start(), 6, 7, none_}));
  EXPECT_EQ(english.target("ab", -1.0), around({6, 7, none_}, {}));
  EXPECT_EQ(english.target("ab", 0.5), around({6, 7, first_}, {first_ + 25}));
  const std::string id = std::to_string(last_), beyond = std::to_string(last_ + 1);
  const WhisperText other =
      loaded(R"({"lang_to_id": {"<|de|>": 0}, "task_to_id": {"translate": )" + id + "}}");
  EXPECT_EQ(other.beginning(), (Ids{other.start(), 0, last_, none_}));
  EXPECT_REGARD_ERROR(loaded(R"({"lang_to_id": {"<|en|>": )" + beyond + "}}"), ErrorKind::bad_file,
                      "\"lang_to_id\" is outside the vocabulary");
  EXPECT_REGARD_ERROR(loaded(R"({"task_to_id": {"transcribe": -1}})"), ErrorKind::bad_file,
                      "\"task_to_id\" is outside the vocabulary");
}

}  // namespace
}  // namespace regard::train
