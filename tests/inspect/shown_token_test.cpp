// shown_token() returns a visible text for every token, for use in pictures.
#include <gtest/gtest.h>

#include "inspect/shown_tokens.h"
#include "support/shared_data.h"
#include "text/tokenizer.h"

namespace regard::inspect {
namespace {

TEST(ShownToken, NeverNothing) {
  for (const char* folder : {"bpe-gpt2", "bpe-llama-old", "unigram-t5-style", "wordpiece-uncased"}) {
    const auto tokenizer = text::Tokenizer::load(testing::golden(std::string("tokenizer-json/") + folder));
    for (std::int32_t id = 0; id < tokenizer->vocabulary_size(); ++id)
      EXPECT_FALSE(shown_token(*tokenizer, id).empty()) << folder << " " << id;
  }
}

TEST(ShownToken, ASpaceAloneIsAMark) {
  const auto tokenizer = text::Tokenizer::from_json(
      {{"version", "1.0"},
       {"model",
        {{"type", "WordLevel"}, {"vocab", {{"[UNK]", 0}, {" ", 1}, {"a b", 2}}}, {"unk_token", "[UNK]"}}}},
      "tokenizer.json");
  EXPECT_EQ(shown_token(*tokenizer, 1), "▁");
  EXPECT_EQ(shown_token(*tokenizer, 2), "a▁b");
}

// A token may look like the name of a byte without being one.
TEST(ShownToken, NamesOfBytes) {
  const auto tokenizer =
      text::Tokenizer::from_json({{"version", "1.0"},
                                  {"decoder", {{"type", "ByteFallback"}}},
                                  {"model",
                                   {{"type", "WordLevel"},
                                    {"vocab", {{"[UNK]", 0}, {"<0x41>", 1}, {"<0xZZ>", 2}}},
                                    {"unk_token", "[UNK]"}}}},
                                 "tokenizer.json");
  EXPECT_EQ(shown_token(*tokenizer, 1), "A");
  EXPECT_EQ(shown_token(*tokenizer, 2), "<0xZZ>");
}

}  // namespace
}  // namespace regard::inspect
