// Conversion of transcripts to labels.
#include "train/speech_text.h"

#include <gtest/gtest.h>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::train {
namespace {

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
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(characters.encode("acb"), (Ids{1, 3, 2}));
  EXPECT_EQ(characters.encode("a  b"), (Ids{1, 4, 2}));
  EXPECT_EQ(characters.decode(Ids{0, 1, 3, 4, 2, 5}), "a b<b>");
}

}  // namespace
}  // namespace regard::train
