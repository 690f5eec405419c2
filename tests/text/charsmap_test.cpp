// Rules of a precompiled_charsmap: search in the double array, and the normalizer Precompiled with offsets.
#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "text/base64.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

using Rules = std::vector<std::pair<std::string, std::string>>;

// Return a charsmap with these rules. Node i of its double array has its children in block i + 1 of 256
// units, at the index of their byte, and its value at index 0.
std::string charsmap_of(const Rules& rules) {
  std::map<std::string, std::size_t> nodes{{"", 0}};
  for (const auto& [from, to] : rules)
    for (std::size_t size = 1; size <= from.size(); ++size) nodes.emplace(from.substr(0, size), nodes.size());
  std::vector<std::uint32_t> units(256 * (nodes.size() + 1));
  std::map<std::string, std::size_t> places;
  const auto children = [&](const std::string& name) { return 256 * (nodes.at(name) + 1); };
  for (const auto& [name, node] : nodes) {
    const auto byte = name.empty() ? 0u : static_cast<std::uint8_t>(name.back());
    const std::size_t place = name.empty() ? 0 : children(name.substr(0, name.size() - 1)) + byte;
    units[place] = byte | static_cast<std::uint32_t>(place ^ children(name)) << 10;
    places[name] = place;
  }
  std::string replacements;
  for (const auto& [from, to] : rules) {
    units[places.at(from)] |= 1u << 8;
    units[children(from)] = 1u << 31 | static_cast<std::uint32_t>(replacements.size());
    replacements += to + '\0';
  }
  const auto size = static_cast<std::uint32_t>(units.size() * 4);
  std::string blob(reinterpret_cast<const char*>(&size), 4);
  blob.append(reinterpret_cast<const char*>(units.data()), size);
  return blob + replacements;
}

TEST(CharsMap, FindsTheShortestAndTheLongestRule) {
  const CharsMap map(charsmap_of({{"a", "1"}, {"abc", "2"}, {"é", ""}, {"\xFF", "3"}}), "test");
  const auto found = [&](std::string_view text, bool longest) {
    const auto rule = (longest ? map.longest(text) : map.shortest(text));
    return rule ? std::pair(rule->size, std::string(rule->replacement))
                : std::pair(std::size_t{0}, std::string());
  };
  using Found = std::pair<std::size_t, std::string>;
  EXPECT_EQ(found("abcd", false), (Found{1, "1"}));
  EXPECT_EQ(found("abcd", true), (Found{3, "2"}));
  EXPECT_EQ(found("abd", true), (Found{1, "1"}));
  EXPECT_EQ(found("ab", true), (Found{1, "1"}));
  EXPECT_EQ(found("éa", false), (Found{2, ""}));
  EXPECT_EQ(found("\xFF", true), (Found{1, "3"}));
  for (const std::string text : {"", "b", "\xC3", "\xC3\xAA", "bc"}) EXPECT_FALSE(map.longest(text)) << text;
  EXPECT_FALSE(map.longest(std::string_view("\0a", 2)));
  EXPECT_FALSE(CharsMap("", "test").longest("a"));
}

TEST(CharsMap, KnowsRulesThatReachOverSpaces) {
  const auto reaches = [](const Rules& rules) {
    return CharsMap(charsmap_of(rules), "test").reaches_over_spaces();
  };
  EXPECT_FALSE(reaches({{"a", "b"}, {"abc", "d"}}));
  EXPECT_FALSE(reaches({{" ", "b"}, {" a", "b"}}));
  EXPECT_TRUE(reaches({{"a ", "b"}}));
  EXPECT_TRUE(reaches({{"a b", "b"}}));
  EXPECT_TRUE(reaches({{"  ", " "}}));
}

// A rule for a value outside of the data, as in a damaged file, is ignored.
TEST(CharsMap, IgnoresValuesOutsideOfTheData) {
  std::string blob = charsmap_of({{"a", "1"}, {"b", "2"}});
  blob.resize(blob.size() - 4);  // without the replacements
  const CharsMap map(blob, "test");
  EXPECT_EQ(map.longest("a")->replacement, "");
  EXPECT_FALSE(map.longest("b"));
}

class PrecompiledNormalizer : public ::testing::Test {
 protected:
  struct Letter {
    std::string token;
    std::uint32_t begin, end;
    bool operator==(const Letter&) const = default;
  };
  // Return the letters of the normalized text and their ranges in code points.
  std::vector<Letter> normalized(const std::string& text) const {
    const Encoding encoding = tokenizer_->encode(text);
    EXPECT_EQ(tokenizer_->encode_ids(text), encoding.ids) << text;
    std::vector<Letter> letters;
    for (std::size_t i = 0; i < encoding.size(); ++i)
      letters.push_back(
          {tokenizer_->token_of(encoding.ids[i]), encoding.offsets[i].begin, encoding.offsets[i].end});
    return letters;
  }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_ = [] {
    const std::string map = charsmap_of(
        {{"\uFB01", "fi"}, {"e\u0301", "\u00E9"}, {"\u2460", "1"}, {"\u200B", ""}, {"...", "\u2026"}});
    Json vocabulary{{"?", 0}};
    for (const char* letter : {"a", "b", "e", "f", "i", "\u00E9", "1", "\u0301", ".", "\u2026"})
      vocabulary[letter] = vocabulary.size();
    return Tokenizer::from_json(
        {{"normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", encode_base64(map)}}},
         {"pre_tokenizer", {{"type", "FixedLength"}, {"length", 1}}},
         {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "?"}}}},
        "test");
  }();
};

TEST_F(PrecompiledNormalizer, ReplacesCharactersAndShortGraphemes) {
  EXPECT_EQ(normalized("a\uFB01e\u0301\u2460b"),
            (std::vector<Letter>{
                {"a", 0, 1}, {"f", 1, 2}, {"i", 1, 2}, {"\u00E9", 2, 3}, {"1", 4, 5}, {"b", 5, 6}}));
  EXPECT_EQ(normalized("a\u200Bb"), (std::vector<Letter>{{"a", 0, 1}, {"b", 2, 3}}));
  EXPECT_EQ(normalized("ab"), (std::vector<Letter>{{"a", 0, 1}, {"b", 1, 2}}));
  EXPECT_EQ(normalized("..."), (std::vector<Letter>{{".", 0, 1}, {".", 1, 2}, {".", 2, 3}}))
      << "three graphemes";
  EXPECT_TRUE(normalized("\u200B").empty());
}

// A rule applies to a whole grapheme if the grapheme has fewer than 6 bytes.
TEST_F(PrecompiledNormalizer, LeavesLongGraphemes) {
  EXPECT_EQ(normalized("e\u0301\u0301b"), (std::vector<Letter>{{"\u00E9", 0, 1}, {"b", 3, 4}}));
  EXPECT_EQ(normalized("e\u0301\u0301\u0301"),
            (std::vector<Letter>{{"e", 0, 1}, {"\u0301", 1, 2}, {"\u0301", 2, 3}, {"\u0301", 3, 4}}));
}

}  // namespace
}  // namespace regard::text
