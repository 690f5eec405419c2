// trim_offsets removes spaces from the offsets of byte-level tokens as Hugging Face's tokenizers library
// does.
#include <gtest/gtest.h>

#include "base/json.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Places places_of(const std::string& text, bool prefix_space, const Json& normalizer = nullptr) {
  const Json json{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", Json::array()},
      {"normalizer", normalizer},
      {"pre_tokenizer", nullptr},
      {"post_processor",
       {{"type", "ByteLevel"},
        {"add_prefix_space", prefix_space},
        {"trim_offsets", true},
        {"use_regex", true}}},
      {"decoder", nullptr},
      {"model",
       {{"type", "BPE"},
        {"vocab", {{" ", 0}, {"  ", 1}, {"a", 2}, {" a", 3}, {"  a", 4}, {"a ", 5}, {"a  ", 6}}},
        {"merges", Json::array({Json::array({" ", " "}), Json::array({" ", "a"}), Json::array({"  ", "a"}),
                                Json::array({"a", " "}), Json::array({"a", "  "})})}}}};
  Places places;
  for (const Offsets& one : Tokenizer::from_json(json, "test")->encode(text, {}).offsets)
    places.emplace_back(one.begin, one.end);
  return places;
}

TEST(TrimOffsets, OnlyASingleLeadingSpaceMayBeThePrefix) {
  EXPECT_EQ(places_of(" a", true), (Places{{0, 2}}));
  EXPECT_EQ(places_of(" a", false), (Places{{1, 2}}));
  EXPECT_EQ(places_of("  a", true), (Places{{2, 3}}));
  EXPECT_EQ(places_of("  a", false), (Places{{2, 3}}));
  EXPECT_EQ(places_of("  ", true), (Places{{2, 2}}));
  EXPECT_EQ(places_of("a  a", true), (Places{{0, 1}, {3, 4}}));
}

// A normalizer can give a token more spaces than it has characters in the text. All spaces are removed from
// the offsets, or none.
TEST(TrimOffsets, SpacesOfANormalizer) {
  const auto replaced = [](const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", content}};
  };
  EXPECT_EQ(places_of("x", false, replaced("a ")), (Places{{0, 0}}));
  EXPECT_EQ(places_of("x", false, replaced("a  ")), (Places{{0, 1}}));
  EXPECT_EQ(places_of("x", false, replaced(" a")), (Places{{1, 1}}));
  EXPECT_EQ(places_of("x", true, replaced(" a")), (Places{{0, 1}}));
}

}  // namespace
}  // namespace regard::text
