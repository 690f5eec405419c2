// Post-processors and decoders with unusual settings give the results of Hugging Face's tokenizers library.
#include <gtest/gtest.h>

#include "base/json.h"
#include "regard/error.h"
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

}  // namespace
}  // namespace regard::text
