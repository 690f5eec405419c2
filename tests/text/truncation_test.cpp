// Truncation and padding of texts and pairs with every option, compared with Hugging Face's tokenizers
// (tests/data/truncation/truncation.py).
#include <gtest/gtest.h>

#include "support/shared_data.h"
#include "support/throws.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

Json offsets_of(const Encoding& encoding) {
  Json all = Json::array();
  for (const Offsets& one : encoding.offsets) all.push_back({one.begin, one.end});
  return all;
}

Json shown(const Encoding& encoding) {
  Json overflowing = Json::array();
  for (const Encoding& part : encoding.overflowing) overflowing.push_back({part.ids, offsets_of(part)});
  return {{"ids", encoding.ids},
          {"type_ids", encoding.type_ids},
          {"offsets", offsets_of(encoding)},
          {"special", encoding.special_mask},
          {"attention", encoding.attention_mask},
          {"words", encoding.words},
          {"overflowing", overflowing}};
}

TEST(Truncation, IsThatOfTokenizers) {
  const Json all = read_json((testing::golden("truncation") / "truncation.json").string());
  std::size_t compared = 0, refused = 0;
  for (const Json& one : all.at("cases")) {
    Json json = all.at("tokenizer");
    json["truncation"] = one.at("truncation"), json["padding"] = one.at("padding");
    const auto what = one.at("truncation").dump() + one.at("text").dump() + one.at("pair").dump();
    const auto tokenizer = Tokenizer::from_json(json, "test");
    const auto text = one.at("text").get<std::string>();
    try {
      const Encoding encoding = one.at("pair").is_null()
                                    ? tokenizer->encode(text)
                                    : tokenizer->encode_pair(text, one.at("pair").get<std::string>());
      ASSERT_TRUE(one.contains("encoding")) << what << ": " << one.at("refused");
      EXPECT_EQ(shown(encoding), one.at("encoding")) << what;
      ++compared;
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::usage || error.kind() == ErrorKind::invalid_input)
          << error.what();
      EXPECT_TRUE(one.contains("refused")) << what << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GT(compared, 300u);
  EXPECT_GT(refused, 50u);
}

// A maximum length smaller than the number of special tokens is rejected. The library tokenizers omits the
// special tokens instead.
TEST(Truncation, NeedsRoomForTheSpecialTokens) {
  Json json = read_json((testing::golden("truncation") / "truncation.json").string()).at("tokenizer");
  const auto with = [&](int length) {
    json["truncation"] = {
        {"direction", "Right"}, {"max_length", length}, {"strategy", "LongestFirst"}, {"stride", 0}};
    return Tokenizer::from_json(json, "test");
  };
  EXPECT_EQ(with(2)->encode("a b").size(), 2u);
  EXPECT_REGARD_ERROR(with(1)->encode("a b"), ErrorKind::usage, "special tokens");
  EXPECT_EQ(with(3)->encode_pair("a b", "c").size(), 3u);
  EXPECT_REGARD_ERROR(with(2)->encode_pair("a b", "c"), ErrorKind::usage, "special tokens");
}

TEST(Truncation, MistakesOfTheRequest) {
  const Json json = read_json((testing::golden("truncation") / "truncation.json").string()).at("tokenizer");
  const auto tokenizer = Tokenizer::from_json(json, "test");
  using Strategy = Truncation::Strategy;
  const auto cut = [&](const Truncation& how) {
    return tokenizer->encode_pair("a b c d", "e f", {.add_special = false, .truncation = how}).ids;
  };
  EXPECT_EQ(cut({.max_length = 3, .strategy = Strategy::only_first}).size(), 3u);
  EXPECT_REGARD_ERROR(cut({.max_length = 2, .strategy = Strategy::only_first}), ErrorKind::invalid_input,
                      "max_length cannot be reached by truncating only one text (expected more than 4 "
                      "tokens, found a text of 4 tokens). Use the strategy longest_first or a larger "
                      "max_length");
  EXPECT_EQ(cut({.max_length = 5, .strategy = Strategy::only_second}).size(), 5u);
  EXPECT_REGARD_ERROR(cut({.max_length = 4, .strategy = Strategy::only_second}), ErrorKind::invalid_input,
                      "(expected more than 2 tokens, found a text of 2 tokens)");
  EXPECT_EQ(cut({.max_length = 4, .stride = 1}).size(), 4u);
  EXPECT_REGARD_ERROR(cut({.max_length = 4, .stride = 2}), ErrorKind::usage,
                      "the stride must be smaller than max_length minus the number of special tokens (found "
                      "stride 2, max_length without special tokens 2). Choose a smaller stride or a larger "
                      "max_length");
  const Truncation second{.max_length = 1, .strategy = Strategy::only_second};
  EXPECT_REGARD_ERROR(tokenizer->encode("a b", {.add_special = false, .truncation = second}),
                      ErrorKind::usage,
                      "the second text cannot be truncated, because there is only one text. Give a pair of "
                      "texts");
}

// As in Hugging Face's tokenizers, the fixed length 0 pads no text, even to a multiple.
TEST(Padding, ToTheFixedLengthZeroAddsNothing) {
  Json json = read_json((testing::golden("truncation") / "truncation.json").string()).at("tokenizer");
  json["padding"] = {{"strategy", {{"Fixed", 0}}}, {"direction", "Right"},
                     {"pad_to_multiple_of", 64},   {"pad_id", 0},
                     {"pad_type_id", 0},           {"pad_token", "x"}};
  const auto tokenizer = Tokenizer::from_json(json, "test");
  const std::vector<TextPair> texts{{"a", std::nullopt}, {"a b c d", std::nullopt}};
  const std::vector<Encoding> encodings = tokenizer->encode_batch(texts);
  for (std::size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(encodings[i].ids, tokenizer->encode(texts[i].first, {.as_file = false}).ids);
}

TEST(Padding, IsThatOfTokenizers) {
  const Json all = read_json((testing::golden("truncation") / "truncation.json").string());
  for (const Json& one : all.at("batches")) {
    Json json = all.at("tokenizer");
    json["padding"] = one.at("padding");
    const auto tokenizer = Tokenizer::from_json(json, "test");
    const auto texts = one.at("texts").get<std::vector<std::string>>();
    std::vector<TextPair> pairs;
    for (const std::string& text : texts) pairs.push_back({text, std::nullopt});
    Json encodings = Json::array();
    for (const Encoding& encoding : tokenizer->encode_batch(pairs)) encodings.push_back(shown(encoding));
    EXPECT_EQ(encodings, one.at("encodings")) << one.at("padding");
  }
}

}  // namespace
}  // namespace regard::text
