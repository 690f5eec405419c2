// Post-processors and decoders with unusual settings give the results of Hugging Face's tokenizers library.
#include <gtest/gtest.h>

#include <tuple>

#include "base/json.h"
#include "regard/error.h"
#include "support/throws.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

std::shared_ptr<const Tokenizer> tokenizer_with(const Json& post_processor, const Json& decoder) {
  const Json json{{"version", "1.0"},
                  {"added_tokens", Json::array()},
                  {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                  {"post_processor", post_processor},
                  {"decoder", decoder},
                  {"model", {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"unk_token", "b"}}}};
  return Tokenizer::from_json(json, "test");
}

TEST(PostProcessors, OnlyTheOuterTokensOfTwoAreMarkedSpecial) {
  for (const char* type : {"BertProcessing", "RobertaProcessing"}) {
    const Json one{{"type", type}, {"sep", Json::array({"</s>", 7})}, {"cls", Json::array({"<s>", 6})}};
    const Json both{{"type", "Sequence"}, {"processors", Json::array({one, one})}};
    const Encoding encoding = tokenizer_with(both, nullptr)->encode("a");
    EXPECT_EQ(encoding.ids, (std::vector<std::int32_t>{6, 6, 0, 7, 7}));
    EXPECT_EQ(encoding.special_mask, (std::vector<std::uint8_t>{1, 0, 0, 0, 1}));
  }
}

Json template_of(const Json& single) {
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", Json::array({text})},
          {"special_tokens", {{"X", {{"id", "X"}, {"ids", Json::array()}, {"tokens", Json::array()}}}}}};
}

TEST(PostProcessors, ATemplateMayUseASpecialTokenWithoutIds) {
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const Json special{{"SpecialToken", {{"id", "X"}, {"type_id", 0}}}};
  const auto tokenizer = tokenizer_with(template_of(Json::array({special, text})), nullptr);
  EXPECT_EQ(tokenizer->encode("a b").ids, (std::vector<std::int32_t>{0, 1}));
}

TEST(PostProcessors, ATemplateMustContainTheTextOnce) {
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  EXPECT_THROW(tokenizer_with(template_of(Json::array({text, text})), nullptr), Error);
  EXPECT_THROW(tokenizer_with(template_of(Json::array()), nullptr), Error);
}

// The second template of a sequence finds no text if the first one is empty.
TEST(PostProcessors, ATemplateAfterOneWithoutTextIsRefused) {
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto sequence = [&](const Json& first, const Json& second) {
    return tokenizer_with({{"type", "Sequence"}, {"processors", Json::array({first, second})}}, nullptr);
  };
  const Json whole = template_of(Json::array({text})), empty = template_of(Json::array());
  EXPECT_REGARD_ERROR(sequence(empty, whole), ErrorKind::bad_file, "leaves out");
  Json without_pair = whole;
  without_pair["pair"] = Json::array();
  const auto tokenizer = sequence(without_pair, whole);
  EXPECT_EQ(tokenizer->encode("a b").ids, (std::vector<std::int32_t>{0, 1}));
  EXPECT_REGARD_ERROR(tokenizer->encode_pair("a", "b"), ErrorKind::bad_file, "leaves out");
}

// A truncated text keeps the special tokens, so max_length must be at least their number.
TEST(PostProcessors, CountTheSpecialTokensThatTheyAdd) {
  const auto pair_of = [](const char* token, int id) { return Json::array({token, id}); };
  const auto processing = [&](const char* type) {
    return Json{{"type", type}, {"sep", pair_of("</s>", 7)}, {"cls", pair_of("<s>", 6)}};
  };
  const auto text = [](const char* id) { return Json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  const Json mark{{"SpecialToken", {{"id", "X"}, {"type_id", 0}}}};
  const Json two{{"id", "X"}, {"ids", {8, 9}}, {"tokens", {"x", "y"}}};
  const Json pattern{{"type", "TemplateProcessing"},
                     {"single", {mark, text("A")}},
                     {"pair", {text("A"), mark, text("B"), mark, mark}},
                     {"special_tokens", {{"X", two}}}};
  const Json both{{"type", "Sequence"},
                  {"processors", {processing("BertProcessing"), {{"type", "ByteLevel"}}, pattern}}};
  const std::vector<std::tuple<Json, std::size_t, std::size_t>> cases{{processing("BertProcessing"), 2, 3},
                                                                      {processing("RobertaProcessing"), 2, 4},
                                                                      {{{"type", "ByteLevel"}}, 0, 0},
                                                                      {pattern, 2, 6},
                                                                      {both, 4, 9}};
  for (const auto& [processor, alone, paired] : cases) {
    SCOPED_TRACE(processor.dump());
    const auto tokenizer = tokenizer_with(processor, nullptr);
    const auto size = [&](bool pair, std::size_t most) {
      const EncodeOptions options{.truncation = Truncation{.max_length = most}};
      return pair ? tokenizer->encode_pair("a b a", "b a", options).size()
                  : tokenizer->encode("a b a", options).size();
    };
    for (const bool pair : {false, true}) {
      const std::size_t added = pair ? paired : alone;
      EXPECT_EQ(size(pair, 100), added + (pair ? 5 : 3));
      EXPECT_EQ(size(pair, added + 1), added + 1);
      EXPECT_EQ(size(pair, added), added);
      if (added == 0) continue;
      EXPECT_REGARD_ERROR(size(pair, added - 1), ErrorKind::usage,
                          "the truncation length is too small for the special tokens (expected at least " +
                              std::to_string(added) + ", found " + std::to_string(added - 1) + ")");
    }
  }
}

TEST(Decoders, AnEmptySuffixOccursBetweenCharacters) {
  const auto tokenizer = tokenizer_with(nullptr, {{"type", "BPEDecoder"}, {"suffix", ""}});
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{0, 1}), " a b");
}

}  // namespace
}  // namespace regard::text
