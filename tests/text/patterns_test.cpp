// Regular expressions of tokenizer files: each match is replaced with # as Hugging Face's normalizer Replace
// does. The expected texts are its results.
#include "text/pattern.h"

#include <gtest/gtest.h>

#include "regard/error.h"

namespace regard::text {
namespace {

std::string replaced(const Pattern& pattern, const std::string& text) {
  std::vector<Match> matches;
  pattern.find(text, matches);
  std::string result;
  for (const Match& match : matches)
    result.append(match.matched ? "#" : text.substr(match.begin, match.end - match.begin));
  return result;
}

struct PatternCase {
  std::string expression, text, expected;
};

void check(const std::vector<PatternCase>& cases) {
  for (const PatternCase& one : cases)
    EXPECT_EQ(replaced(*regex_pattern(one.expression, "test"), one.text), one.expected) << one.expression;
}

TEST(Patterns, EscapesAndOptionsOfOniguruma) {
  check({
      {R"(\h)", "a1gG", "##gG"},
      {R"(\H)", "a1gG", "a1##"},
      {R"([\h-])", "a-g", "##g"},
      {R"(\v)", "\013\n", "#\n"},
      {R"(\V)", "aV\n", "a#\n"},
      {R"(\d\D)", "1a५b२३", "##२३"},
      {R"(\S\s)", "a b\u3000cd", "##cd"},
      {R"((?m)a.b)", "a\nb", "#"},
      {R"((?im:A.)c)", "a\nc", "#"},
      {R"(a(?#{2}+[)b)", "abab", "##"},
      {R"(a(?#b)\h)", "a1a ", "#a "},
  });
}

TEST(Patterns, IntervalsOfOniguruma) {
  check({
      {R"(a{2}+)", "aaaaa", "#a"},
      {R"(\p{N}{1,3}+)", "1234567", "#"},
      {R"(a{2}?)", "aaaab", "##b#"},
      {R"(a{1,2}?)", "aaa", "###"},
      {R"(xa{,2})", "xaaa", "#a"},
      {R"((?:ab){1,2}+)", "ababab", "#"},
      {R"(a{x)", "a{x", "#"},
      {R"(\u0061[\u0062-\u0063])", "abac", "##"},
  });
}

TEST(Patterns, SetsContainSetsAndIntersections) {
  check({
      {R"([a-c&&b-d&&c])", "abcd", "ab#d"},
      {R"([^a-c&&b-d])", "abcd", "#bc#"},
      {R"([[^a]b])", "abcd", "a###"},
      {R"([^[^a]b])", "abcd", "#bcd"},
      {R"([a[x-z]])", "axb", "##b"},
      {R"([\p{L}&&[^\p{Han}]]+)", "ab中文c", "#中文#"},
      {R"([&&a])", "a&", "a&"},
      {R"([]a])", "a]b", "##b"},
      {R"([a&b])", "a&b", "###"},
  });
}

TEST(Patterns, ClassesOfOniguruma) {
  check({
      {R"(\p{Han})", "中ー㈱", "#ー㈱"},
      {R"(\P{Hiragana})", "あー", "あ#"},
      {R"([[:punct:]])", "a-+©", "a###"},
      {R"([[:alpha:]])", "aⅷ²1", "##²1"},
      {R"([[:^alpha:]])", "aⅷ1", "aⅷ#"},
      {R"(\p{^L})", "a1é-", "a#é#"},
      {R"([[:alnum:]])", "a1५-²", "###-²"},
      {R"([[:cntrl:]])", "\001a\t", "#a#"},
      {R"([[:digit:]])", "1a५²", "#a#²"},
      {R"([[:lower:]])", "aÉé1", "#É#1"},
      {R"([[:upper:]])", "aÉé1", "a#é1"},
      {R"([[:word:]])", "a_1-", "###-"},
      {R"([[:xdigit:]])", "fG1", "#G#"},
      {R"([[:print:]])", "a \001", "##\001"},
      {R"([[:^space:]])", "a \tb", "# \t#"},
      {R"([[:blank:]])", "\t\u00A0\u180E", "##\u180E"},
      {R"([[:graph:][:space:]])", "a \u0378", "##\u0378"},
      {R"([\W_])", "a\u0301-_", "a\u0301##"},
      {R"([^\W_])", "a\u0301-_", "##-_"},
      {R"(\b)", "a\u0301b c", "#a\u0301b# #c#"},
      {R"(\B)", "ab", "a#b"},
  });
}

TEST(Patterns, EmptyMatches) {
  check({
      {R"(x*)", "axbxx", "#a#b#"},
      {R"(x*)", "éüxa中", "#é#ü#a#中#"},
      {"", "aé", "#a#é#"},
      {R"(^)", "a\nb\n", "#a\n#b\n"},
      {R"($)", "a\nb\n", "a#\nb#\n#"},
      {R"(|a)", "aab", "#a#a#b#"},
      {R"(a?+)", "aab", "##b#"},
  });
}

TEST(Patterns, EmptyLiteralsMatchBetweenCharacters) {
  EXPECT_EQ(replaced(*literal_pattern(""), "aé"), "#a#é#");
  EXPECT_EQ(replaced(*literal_pattern(""), ""), "");
}

TEST(Patterns, EmptyMatchesSeparateContiguousRanges) {
  std::vector<Match> matches;
  regex_pattern("x*", "test")->find("abx", matches);
  std::vector<std::string> pieces;
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end) pieces.push_back(std::string("abx").substr(begin, end - begin));
  };
  cut_at(matches, SplitBehavior::contiguous, add);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "b", "x"}));
}

TEST(Patterns, DeepOrOpenBracketsAreRefused) {
  EXPECT_THROW(regex_pattern(std::string(100'000, '['), "test"), Error);
  for (const char* wrong : {"[[:nothing:]]", "[a", R"(\u12)", R"(\u12g4)", R"(\p{L)", "(a"})
    EXPECT_THROW(regex_pattern(wrong, "test"), Error) << wrong;
}

}  // namespace
}  // namespace regard::text
