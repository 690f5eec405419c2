// Post-processors and decoders with unusual settings give the results of Hugging Face's tokenizers library.
#include <gtest/gtest.h>

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

TEST(Decoders, AnEmptySuffixOccursBetweenCharacters) {
  const auto tokenizer = tokenizer_with(nullptr, {{"type", "BPEDecoder"}, {"suffix", ""}});
  EXPECT_EQ(tokenizer->decode(std::vector<std::int32_t>{0, 1}), " a b");
}

}  // namespace
}  // namespace regard::text
