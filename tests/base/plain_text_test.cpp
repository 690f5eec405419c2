// Small text utilities and the parsing of numbers.
#include "base/plain_text.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/parse_number.h"

namespace regard::base {
namespace {

TEST(PlainText, MarkupIsEscaped) {
  EXPECT_EQ(html_escaped("\"a\"<b&c>"), "\"a\"&lt;b&amp;c&gt;");
  EXPECT_EQ(html_escaped("\"a\"", true), "&quot;a&quot;");
}

TEST(PlainText, PartsAreTakenUpToTheMark) {
  std::string_view rest = "a..b";
  EXPECT_EQ(take_part(rest, '.'), "a");
  EXPECT_EQ(take_part(rest, '.'), "");
  EXPECT_EQ(take_part(rest, '.'), "b");
  EXPECT_EQ(rest, "");
}

TEST(ParseNumber, OnlyWholeTextsAreNumbers) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("2.5e1"), 25.0);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "0x1", "one", "3000000000"})
    EXPECT_EQ(parse_number<std::int32_t>(text), std::nullopt) << text;
}

}  // namespace
}  // namespace regard::base
