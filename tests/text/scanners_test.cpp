// The hand-written scanners compared with PCRE2 on the same patterns, for random texts of characters that the
// patterns distinguish.
#include "text/scanners.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "text/pattern.h"

namespace regard::text {
namespace {

struct Case {
  const char* name;
  const std::string_view* pattern;
  bool long_s;  // U+017F is drawn too: PCRE2 matches it as a caseless s, like tiktoken
};

class Scanners : public ::testing::TestWithParam<Case> {};

std::u32string alphabet(bool long_s) {
  using namespace std::string_literals;
  std::u32string all =
      U"  "
      U"\n\r\t''''sStTrReEvVmMlLdDaAzZ019//"
      U".,!-\u00A0\u2003\u3000\u0085\u000B\u2028\u180E\u200B\u0301\u0915\u093F"
      U"\u0903\u0966\u00E9\u00C9\u01C5\u02B0\u4E2D\u3042\u00BD\u2160\u2460\u20AC\U0001F642\U0001D7D8\u0000\uFEFF\u00AD"s;
  if (long_s) all.push_back(0x17F);
  return all;
}

std::string draw(RandomStream& random, const std::u32string& all) {
  std::u32string text;
  const std::uint64_t size = random.next_below(24);
  while (text.size() < size) {
    if (random.next_below(8) == 0) {  // repeat one character
      text.append(random.next_below(5) + 1, all[random.next_below(all.size())]);
    } else {
      text.push_back(all[random.next_below(all.size())]);
    }
  }
  return utf8::encode(text);
}

TEST_P(Scanners, EqualPcre2) {
  const Case& param = GetParam();
  const Scanner scan = published_scanner(*param.pattern);
  ASSERT_NE(scan, nullptr);
  std::string expression(*param.pattern);
  // In Oniguruma "$" is the end of a line. Only tiktoken's pattern contains "$", where it is the end of the
  // text.
  if (const std::size_t dollar = expression.find("++$"); dollar != std::string::npos)
    expression.replace(dollar + 2, 1, "\\z");
  const auto pcre2 = pcre2_pattern(expression, "test");
  const std::u32string all = alphabet(param.long_s);
  RandomStream random({.seed = 11});
  std::vector<Match> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = draw(random, all);
    expected.clear();
    pcre2->find(text, expected);
    std::size_t begin = 0;
    for (const Match& match : expected) {
      ASSERT_EQ(match.begin, begin) << ::testing::PrintToString(text);
      const std::size_t end = scan(text, begin);
      ASSERT_EQ(match.end, end) << ::testing::PrintToString(text) << " from " << begin;
      begin = end;
    }
    ASSERT_EQ(begin, text.size());
  }
}

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Published, Scanners,
    ::testing::Values(Case{"gpt2", &kGpt2Pattern, true}, Case{"words", &kWordsPattern, true},
                      Case{"cl100k", &kCl100kPattern, false}, Case{"o200k", &kO200kPattern, false},
                      Case{"llama3", &kLlama3Pattern, false}, Case{"qwen2", &kQwen2Pattern, false},
                      Case{"tiktoken_cl100k", &kTiktokenCl100kPattern, true},
                      Case{"tiktoken_o200k", &kTiktokenO200kPattern, true}),
    test_name);

}  // namespace
}  // namespace regard::text
