// vocab.json and merges.txt without a tokenizer.json, as published for GPT-2.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

// Ids and offsets of transformers 5.23, GPT2Tokenizer(vocab=…, merges=…), with the same two files.
struct Expected {
  std::string text;
  std::vector<std::int32_t> ids;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> offsets;
};

// Write vocab.json and merges.txt of a small vocabulary.
void write_small_vocabulary(const testing::TemporaryFolder& folder) {
  write_file_atomically(folder / "vocab.json", R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "<s>": 4, "</s>": 5})");
  write_file_atomically(folder / "merges.txt", "#version: 0.2\na b\n");
}

// Ids of transformers, which adds the tokens of these files to the vocabulary.
TEST(VocabAndMerges, TokensListedBesideTheVocabularyAreAdded) {
  const testing::TemporaryFolder folder;
  write_small_vocabulary(folder);
  const auto ids = [&](const std::string& text) {
    return Tokenizer::load(folder.path())->encode_ids(text, {.add_special = false});
  };
  write_file_atomically(folder / "added_tokens.json", R"({"<a>": 6, "ba": 7})");
  write_file_atomically(folder / "special_tokens_map.json", R"({"pad_token": "<a>"})");
  EXPECT_EQ(ids("ab<a>ba b"), (std::vector<std::int32_t>{2, 6, 7, 3, 1}));
  EXPECT_TRUE(Tokenizer::load(folder.path())->is_special(6));
  EXPECT_FALSE(Tokenizer::load(folder.path())->is_special(7));
  // added_tokens_decoder replaces added_tokens.json, and the properties of a known token
  write_file_atomically(
      folder / "tokenizer_config.json",
      R"({"added_tokens_decoder": {"5": {"content": "</s>", "rstrip": true, "special": true},
                                   "6": {"content": "<b>", "lstrip": true, "special": false}}})");
  EXPECT_EQ(ids("ba <b></s> b<s>"), (std::vector<std::int32_t>{1, 0, 6, 5, 1, 4}));
  EXPECT_EQ(Tokenizer::load(folder.path())->vocabulary_size(), 7);
  for (const char* wrong : {R"({"added_tokens_decoder": [1]})", R"({"added_tokens_decoder": {"x": {}}})",
                            R"({"added_tokens_decoder": {"6": 1}})"}) {
    write_file_atomically(folder / "tokenizer_config.json", wrong);
    EXPECT_REGARD_ERROR(Tokenizer::load(folder.path()), ErrorKind::bad_file, "added_tokens_decoder");
  }
}

TEST(VocabAndMerges, OffsetsHoldTheSpaceBeforeAWordAsTransformersHasIt) {
  const Json source = read_json(testing::golden("tokenizer-json/bpe-gpt2/tokenizer.json").string());
  const testing::TemporaryFolder folder;
  write_file_atomically(folder / "vocab.json", source.at("model").at("vocab").dump());
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : source.at("model").at("merges")) {
    merges += merge.is_string() ? merge.get<std::string>()
                                : merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>();
    merges += '\n';
  }
  write_file_atomically(folder / "merges.txt", merges);
  const auto tokenizer = Tokenizer::load(folder.path());
  const std::vector<Expected> cases = {
      {"Hello  world, it's  spaces ",
       {40, 549, 79, 221, 577, 525, 12, 601, 579, 221, 436, 65, 67, 308, 221},
       {{0, 1},
        {1, 4},
        {4, 5},
        {5, 6},
        {6, 10},
        {10, 12},
        {12, 13},
        {13, 16},
        {16, 18},
        {18, 19},
        {19, 22},
        {22, 23},
        {23, 24},
        {24, 26},
        {26, 27}}},
      {"  the cat\n sat",
       {221, 301, 306, 305, 199, 264, 305},
       {{0, 1}, {1, 5}, {5, 7}, {7, 9}, {9, 10}, {10, 12}, {12, 14}}},
      {"\u0915\u0947\u0915 \u0915\u093E",
       {323, 270, 323, 291, 265},
       {{0, 1}, {1, 2}, {2, 3}, {3, 5}, {5, 6}}},
  };
  for (const Expected& expected : cases) {
    const Encoding encoding = tokenizer->encode(expected.text);
    EXPECT_EQ(encoding.ids, expected.ids) << expected.text;
    ASSERT_EQ(encoding.offsets.size(), expected.offsets.size()) << expected.text;
    for (std::size_t i = 0; i < expected.offsets.size(); ++i) {
      EXPECT_EQ(encoding.offsets[i].begin, expected.offsets[i].first) << expected.text << ", token " << i;
      EXPECT_EQ(encoding.offsets[i].end, expected.offsets[i].second) << expected.text << ", token " << i;
    }
  }
}

}  // namespace
}  // namespace regard::text
