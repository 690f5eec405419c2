// encode_ids() splits a text where normalizer and pre-tokenizer declare its parts independent (Locality,
// Cutting); encode() processes the whole text. Both give the same ids for every combination of normalizer and
// pre-tokenizer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "support/thread_time.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

const char* const kNormalizers[] = {
    "null",
    R"({"type": "NFC"})",
    R"({"type": "NFD"})",
    R"({"type": "NFKC"})",
    R"({"type": "NFKD"})",
    R"({"type": "Lowercase"})",
    R"({"type": "ByteLevel"})",
    R"({"type": "StripAccents"})",
    R"({"type": "Strip", "strip_left": true, "strip_right": false})",
    R"({"type": "Strip", "strip_left": false, "strip_right": true})",
    R"({"type": "Prepend", "prepend": "x"})",
    R"({"type": "Replace", "pattern": {"String": " "}, "content": "_"})",
    R"({"type": "Replace", "pattern": {"String": "A"}, "content": "x"})",
    R"({"type": "Replace", "pattern": {"String": "A"}, "content": ""})",
    R"({"type": "Replace", "pattern": {"String": "a b"}, "content": "x"})",
    R"({"type": "Replace", "pattern": {"String": "ab"}, "content": "b a"})",
    R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "_"})",
    R"({"type": "Replace", "pattern": {"Regex": "a +b"}, "content": "x"})",
    R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
        "lowercase": true})",
    R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]})",
    R"({"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFC"}]})",
    R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend", "prepend": "a"}]})",
    R"({"type": "Sequence", "normalizers": [{"type": "Replace", "pattern": {"String": "a b"}, "content": "x"},
                                            {"type": "Lowercase"}]})",
    R"({"type": "Sequence", "normalizers": [{"type": "Strip"}, {"type": "NFKC"}]})"};

const char* const kPreTokenizers[] = {
    R"({"type": "BertPreTokenizer"})",
    R"({"type": "Whitespace"})",
    R"({"type": "WhitespaceSplit"})",
    R"({"type": "Punctuation", "behavior": "Isolated"})",
    R"({"type": "CharDelimiterSplit", "delimiter": " "})",
    R"({"type": "Digits", "individual_digits": true})",
    R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true})",
    R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true})",
    R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "split": false})",
    R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true, "trim_offsets": true})",
    R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation"}]})",
    R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "split": true}]})"};

// Return a BPE model of single characters and a few merges, with and without spaces.
Json model() {
  Json vocabulary = {{"?", 0}};
  for (const char* letter : {"a",      "b",      "x",      "A",      "B", "e",  "=",      " ",      "_",
                             ".",      ",",      "!",      "1",      "2", "f",  "i",      "\u00E9", "\u2260",
                             "\u0301", "\u0338", "\u6F22", "\u00C9", "E", "\t", "\u0120", "\u00C3", "\u00A9"})
    vocabulary[letter] = vocabulary.size();
  Json merges = Json::array();
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{{"a", "b"},
                                                                                    {"_", "a"},
                                                                                    {"_a", "b"},
                                                                                    {" ", "a"},
                                                                                    {"=", "\u0338"},
                                                                                    {"e", "\u0301"},
                                                                                    {"1", "2"},
                                                                                    {"b", "."},
                                                                                    {"_", "_"},
                                                                                    {"x", "a"},
                                                                                    {"b", "_"}}) {
    merges.push_back({left, right});
    vocabulary[left + right] = vocabulary.size();
  }
  return {{"type", "BPE"},
          {"unk_token", "?"},
          {"vocab", vocabulary},
          {"merges", merges},
          {"dropout", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false}};
}

TEST(Locality, PartsOfATextGiveTheIdsOfTheWhole) {
  const std::vector<std::string> parts{
      "a",       "b",      "ab",     " ",       "  ",       "a b",    " ab", "a  b",   "A",
      "e",       "=",      ".",      ",",       "!",        "1",      "2",   "\u00E9", "e\u0301",
      "=\u0338", "\u2260", "\u0301", " \u0301", "= \u0338", "\t",     "\n",  "\uFB01", "\u6F22",
      "x",       "_",      "\u00A0", "\u3000",  " \u0338",  ".\u0301"};
  const Json bpe = model();
  std::uint32_t state = 11;
  const auto next = [&](std::size_t count) { return ((state = state * 1664525 + 1013904223) >> 8) % count; };
  std::vector<std::string> texts{"", " ", "a", " a", "a ", "  a  b  "};
  while (texts.size() < (testing::kSlowBuild ? 40 : 150)) {
    std::string text;
    for (std::size_t i = 1 + next(12); i-- > 0;) text += parts[next(parts.size())];
    texts.push_back(text);
  }
  for (const char* normalizer : kNormalizers) {
    for (const char* pre_tokenizer : kPreTokenizers) {
      const Json json = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", Json::array()},
                         {"post_processor", nullptr},
                         {"decoder", nullptr},
                         {"model", bpe},
                         {"normalizer", parse_json(normalizer, "test")},
                         {"pre_tokenizer", parse_json(pre_tokenizer, "test")}};
      const auto tokenizer = Tokenizer::from_json(json, "test");
      for (const std::string& text : texts)
        ASSERT_EQ(tokenizer->encode_ids(text), tokenizer->encode(text).ids) << normalizer << "\n"
                                                                            << pre_tokenizer << "\n"
                                                                            << Json(text);
    }
  }
}

// A Metaspace that does not split leaves a text whole, because merges may join words.
TEST(Locality, MetaspaceDividesTextsOnlyWhereItSplits) {
  for (const bool split : {false, true}) {
    const Json json = {
        {"version", "1.0"},
        {"pre_tokenizer",
         {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "never"}, {"split", split}}},
        {"model", model()}};
    const auto tokenizer = Tokenizer::from_json(json, "test");
    EXPECT_EQ(tokenizer->parts_of("ab b x", 1).size(), split ? 3u : 1u);
    EXPECT_EQ(tokenizer->encode("b x").tokens,
              split ? (std::vector<std::string>{"b", "_", "x"}) : (std::vector<std::string>{"b_", "x"}));
  }
}

}  // namespace
}  // namespace regard::text
