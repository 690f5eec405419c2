// A long text encoded in parts has the same ids as the whole text, with every tokenizer of the tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "support/shared_data.h"
#include "support/thread_time.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> tokenizers() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(testing::golden(""))) {
    const fs::path& path = entry.path();
    if (path.filename() == "tokenizer.json" || path.extension() == ".model") found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string random_text(std::mt19937& random, std::size_t words) {
  static const std::vector<std::string> parts{
      "the",    "cat's", "Don't", "naïve",  "नमस्ते",   "हिन्दी",  "漢字かな",      "1234",
      "3.14",   "...",   "?!",    "<s>",    "</s>",   "[MASK]", "<unk>",         "a\u0301",
      "\u0301", "▁",     "▁x",    "\u00a0", "\u3000", "\u200b", "e\u0327\u0301", "ﬁ",
      "Å",      "😀",    "://",   "\t",     "\r\n",   "\n",     "\n\n",          "  ",
      "   ",    " \n ",  "'s",    "''",     "@@",     "x▁",     "\u0600",        "\u0e33",
      "_",      "I'M"};
  std::string text;
  for (std::size_t i = 0; i < words; ++i) {
    text += parts[random() % parts.size()];
    if (random() % 3 != 0) text += random() % 5 == 0 ? "\n" : " ";
  }
  return text;
}

TEST(PartsOfAText, HaveTheIdsOfTheWholeWithEveryTokenizer) {
  int cut = 0;
  for (const fs::path& path : tokenizers()) {
    SCOPED_TRACE(path);
    const auto tokenizer = Tokenizer::load(path);
    std::mt19937 random(7);
    bool any = false;
    for (int round = 0; round < (testing::kSlowBuild ? 15 : 60); ++round) {
      const std::string text = random_text(random, 1 + random() % 60);
      for (const bool match : {false, true}) {
        const EncodeOptions options{.add_special = false, .match_special = match};
        std::vector<std::int32_t> ids;
        std::string joined;
        const auto parts = tokenizer->parts_of(text, 1 + random() % 40, match);
        for (const std::string_view part : parts) {
          joined += part;
          const std::vector<std::int32_t> more = tokenizer->encode_ids(part, options);
          ids.insert(ids.end(), more.begin(), more.end());
        }
        any = any || parts.size() > 1;
        ASSERT_EQ(joined, text);
        ASSERT_EQ(ids, tokenizer->encode_ids(text, options)) << text;
        ASSERT_EQ(
            ids,
            tokenizer->encode(text, {.add_special = false, .match_special = match, .as_file = false}).ids)
            << text;
      }
    }
    cut += any ? 1 : 0;
    EXPECT_EQ(tokenizer->parts_of("", 5).size(), 1u);
  }
  EXPECT_GE(cut, 20) << "most tokenizers share a text among threads";
}

// A character-level tokenizer has neither a pre-tokenizer nor merges. Its texts are divided into parts,
// unless consecutive unknown characters are fused into one token. A long text that is encoded as one part
// needs 12 bytes of memory per character.
TEST(PartsOfAText, CharacterTokenizersDivideTheirTexts) {
  Json vocabulary{{"<unk>", 0}, {" ", 1}, {"t", 2}, {"h", 3}, {"e", 4}, {"\n", 5}, {"_", 6}, {"漢", 7}};
  for (int byte = 0; byte < 256; ++byte) vocabulary[fmt::format("<0x{:02X}>", byte)] = 8 + byte;
  for (const bool fallback : {false, true}) {
    for (const bool fuse : {false, true}) {
      SCOPED_TRACE(fmt::format("fallback {}, fuse {}", fallback, fuse));
      const Json model{{"type", "BPE"},        {"vocab", vocabulary}, {"merges", Json::array()},
                       {"unk_token", "<unk>"}, {"fuse_unk", fuse},    {"byte_fallback", fallback}};
      const auto tokenizer = Tokenizer::from_json({{"version", "1.0"}, {"model", model}}, "characters");
      std::mt19937 random(11);
      const std::string text = random_text(random, 400);
      std::vector<std::int32_t> ids;
      const auto parts = tokenizer->parts_of(text, 64);
      for (const std::string_view part : parts) {
        const std::vector<std::int32_t> more = tokenizer->encode_ids(part, {.add_special = false});
        ids.insert(ids.end(), more.begin(), more.end());
      }
      EXPECT_EQ(parts.size() > 10, fallback || !fuse);
      EXPECT_EQ(ids, tokenizer->encode_ids(text, {.add_special = false}));
      EXPECT_EQ(ids, tokenizer->encode(text, {.add_special = false, .as_file = false}).ids);
    }
  }
}

}  // namespace
}  // namespace regard::text
