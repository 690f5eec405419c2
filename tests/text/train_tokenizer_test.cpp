// Trained tokenizers give the same ids as Hugging Face's library with their saved files.
#include "text/train_tokenizer.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/shared_data.h"

namespace regard::text {
namespace {

TEST(TrainTokenizer, IdsEqualTheReferencesWithTheSavedFile) {
  const Json golden = read_json(testing::golden("tokenizer-training/peer.json").string());
  const auto texts = golden.at("texts").get<std::vector<std::string>>();
  ASSERT_EQ(golden.at("cases").size(), 7u);
  for (const Json& entry : golden.at("cases")) {
    TokenizerTraining options;
    options.type = entry.at("type").get<std::string>();
    options.words = entry.value("words", "");
    options.vocabulary_size = golden.at("vocab_size").get<std::size_t>();
    SCOPED_TRACE(options.type + " " + options.words);
    const auto trained =
        train_tokenizer(lines_of_files({testing::golden("tokenizer-training/corpus.txt")}, false), options);
    const auto loaded = Tokenizer::from_json(trained->to_json(), "saved");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto expected = entry.at("ids")[i].get<std::vector<std::int32_t>>();
      EXPECT_EQ(trained->encode_ids(texts[i]), expected) << texts[i];
      EXPECT_EQ(loaded->encode(texts[i]).ids, expected) << texts[i];
    }
  }
}

TEST(TrainTokenizer, NamesThatDoNotExistAreRefused) {
  TokenizerTraining options;
  options.type = "sentence";
  EXPECT_THROW(train_tokenizer(lines_of({}), options), Error);
  options.type = "bpe";
  options.words = "bert";  // this rule drops spaces, which BPE needs for decoding
  EXPECT_THROW(train_tokenizer(lines_of({}), options), Error);
}

}  // namespace
}  // namespace regard::text
