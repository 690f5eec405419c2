// The byte trie compared with a plain search, and the alphabet of trainers.
#include "text/byte_trie.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/random.h"
#include "support/throws.h"
#include "text/alphabet.h"

namespace regard::text {
namespace {

// Return a string of up to 12 bytes of 4 kinds. Half of the strings share their first 8 bytes.
std::string random_string(RandomStream& random) {
  std::string text = random.next() % 2 == 0 ? "prefix--" : "";
  for (std::uint32_t size = random.next() % 13; size > 0; --size)
    text.push_back(std::string("a\0\xFF-", 4)[random.next() % 4]);
  return text;
}

TEST(ByteTrie, FindsWhatAPlainSearchFinds) {
  RandomStream random({.seed = 5});
  for (const std::size_t count : {1u, 2u, 7u, 60u, 700u}) {
    std::vector<std::string> strings;
    std::vector<TokenView> views;
    std::map<std::string, std::int32_t> values;  // of equal strings, the last value is kept
    for (std::size_t i = 0; i < count; ++i) strings.push_back(random_string(random));
    for (std::size_t i = 0; i < count; ++i) {
      views.push_back({strings[i], static_cast<std::int32_t>(i)});
      if (!strings[i].empty()) values[strings[i]] = static_cast<std::int32_t>(i);
    }
    const ByteTrie trie(views);
    EXPECT_EQ(trie.empty(), values.empty());
    for (const auto& [string, value] : values)
      EXPECT_EQ(trie.longest(string), std::pair(string.size(), value));
    for (int i = 0; i < 300; ++i) {
      const std::string text = random_string(random) + random_string(random);
      std::pair<std::size_t, std::int32_t> expected{0, ByteTrie::kNone};
      for (std::size_t size = 1; size <= text.size(); ++size)
        if (const auto found = values.find(text.substr(0, size)); found != values.end())
          expected = {size, found->second};
      EXPECT_EQ(trie.longest(text), expected);
    }
  }
}

TEST(ByteTrie, OfNoBytesFindsNothing) {
  const std::vector<TokenView> strings{{"", 3}};
  for (const ByteTrie& trie : {ByteTrie(), ByteTrie(std::vector<TokenView>{}), ByteTrie(strings)}) {
    EXPECT_TRUE(trie.empty());
    EXPECT_EQ(trie.longest("a"), std::pair(std::size_t{0}, ByteTrie::kNone));
  }
}

// "a" is half of the 16 characters, "b" a quarter, "c" and "d" an eighth each.
TEST(Alphabet, CoversAFractionOfTheText) {
  const std::vector<WordCount> words{{"aaaa", 2}, {"cd", 2}, {"bb", 2}};
  const auto letters = [&](std::size_t most, double coverage, const std::string& always = "") {
    const std::vector<char32_t> alphabet = alphabet_of(words, {most, coverage, always});
    return std::u32string(alphabet.begin(), alphabet.end());
  };
  EXPECT_EQ(letters(0, 1.0), U"abcd");
  for (const auto& [coverage, expected] : {std::pair{0.1, U"a"},
                                           {0.5, U"a"},
                                           {0.51, U"ab"},
                                           {0.75, U"ab"},
                                           {0.76, U"abc"},
                                           {0.875, U"abc"},
                                           {0.9, U"abcd"}})
    EXPECT_EQ(letters(0, coverage), expected) << coverage;
  EXPECT_EQ(letters(0, 0.5, "dz"), U"adz");
  EXPECT_EQ(letters(3, 1.0, "dz"), U"adz");
  EXPECT_EQ(letters(2, 1.0, "dz"), U"dz");
  EXPECT_EQ(letters(4, 1.0), U"abcd");
  EXPECT_EQ(letters(3, 1.0), U"abc");
  for (const auto& [coverage, found] : {std::pair{0.0, "0"}, {-0.5, "-0.5"}, {1.5, "1.5"}})
    testing::expect_error_text(ErrorKind::usage,
                               std::string("character coverage is out of range (expected more than 0 and at "
                                           "most 1, found ") +
                                   found + ")",
                               [&, coverage = coverage] { letters(0, coverage); });
  EXPECT_REGARD_ERROR(letters(0, std::numeric_limits<double>::quiet_NaN()), ErrorKind::usage, "found nan");
  testing::expect_error_text(ErrorKind::usage, "the initial alphabet is not valid UTF-8",
                             [&] { letters(0, 1.0, "\xFF"); });
}

}  // namespace
}  // namespace regard::text
