// Error messages: their parts, escaping, and suggestions of the nearest name.
#include <gtest/gtest.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "base/toml.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(Nearest, DistancesAreTheFewestEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("abc", "abd"), 1);
  EXPECT_EQ(edit_distance("abc", "ab"), 1);
  EXPECT_EQ(edit_distance("bc", "abc"), 1);
  EXPECT_EQ(edit_distance("abcd", "acbd"), 1) << "neighbours swapped";
  EXPECT_EQ(edit_distance("ba", "ab"), 1);
  EXPECT_EQ(edit_distance("ca", "abc"), 3) << "no part is changed twice";
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("sunday", "saturday"), 3);
  EXPECT_EQ(edit_distance("abcdef", "badcfe"), 3);
}

TEST(Nearest, OnlyALikelyTypingError) {
  const std::vector<std::string> names{"hidden_size", "heads", "encoder_layers", "seed", "feed"};
  EXPECT_EQ(nearest("hiddenSize", names), "hidden_size");
  EXPECT_EQ(nearest("hidden-size", names), "hidden_size");
  EXPECT_EQ(nearest("haeds", names), "heads");
  EXPECT_EQ(nearest("layers", names), "encoder_layers") << "a part of the name";
  EXPECT_EQ(nearest("seeds", names), "seed");
  EXPECT_EQ(nearest("deed", names), "seed") << "of equally close ones the first";
  EXPECT_EQ(nearest("xx", names), "");
  EXPECT_EQ(nearest("unrelated", names), "");
  EXPECT_EQ(nearest("hixxen_xixe", names), "");  // edit distance 4 is too large for 11 letters
  EXPECT_EQ(nearest("hixxen_xize", names), "hidden_size");
  EXPECT_EQ(nearest("ab", std::vector<std::string>{"xy", "xb"}), "xb");
  EXPECT_EQ(nearest("ab", std::vector<std::string>{"wxyzab"}), "") << "two letters are no abbreviation";
  EXPECT_EQ(nearest("abc", std::vector<std::string>{"wxyzabc"}), "wxyzabc");
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("plain \u00E9 \u6F22 ~"), "plain \u00E9 \u6F22 ~");
  EXPECT_EQ(printable(std::string_view("a\0b\n\t\x1b[31m\x1f \x7f", 13)),
            "a\\x00b\\x0a\\x09\\x1b[31m\\x1f \\x7f");
  EXPECT_EQ(printable("\u0080|\u009F|\u00A0"), "\\u0080|\\u009f|\u00A0");
  EXPECT_EQ(printable("\xC2"), "\xC2") << "nothing follows";
}

TEST(Printable, LongTextsAreCutBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef… (7 bytes)");
  EXPECT_EQ(printable("abcde\u00E9f", 6), "abcde\u00E9… (8 bytes)");
  EXPECT_EQ(printable("abcde\U0001F600f", 6), "abcde\U0001F600… (10 bytes)");
  EXPECT_EQ(printable(std::string(1000, '\x80'), 6), std::string(9, '\x80') + "… (1000 bytes)");
  EXPECT_EQ(printable("", 0), "");
  EXPECT_EQ(printable(std::string(600, 'x')).size(), 600u);
  EXPECT_NE(printable(std::string(601, 'x')).find("(601 bytes)"), std::string::npos);
}

TEST(Error, TextHasEveryPartThatIsGiven) {
  const auto text = [](const Error& error) { return std::string(error.what()); };
  EXPECT_EQ(text(usage_error("what")), "what");
  EXPECT_EQ(text(usage_error("what").found("1")), "what (found 1)");
  EXPECT_EQ(text(usage_error("what").expected("2")), "what (expected 2)");
  EXPECT_EQ(text(usage_error("what").found("1").expected("2").remedy("do")),
            "what (expected 2, found 1). do");
  EXPECT_EQ(text(file_error("f", "what")), "f: what");
  EXPECT_EQ(text(file_error("f", "what").at({"g", 3, -1})), "g:3: what");
  EXPECT_EQ(text(file_error("f", "what").at({"g", -1, 0})), "g (byte 0): what");
  EXPECT_EQ(text(file_error("f", "what").at({"g", 0, 7})), "g:0 (byte 7): what");
  EXPECT_EQ(text(usage_error("a\nb").found("\x1b")), "a\\x0ab (found \\x1b)");
}

TEST(Toml, MistakesHaveTheirPlace) {
  EXPECT_REGARD_ERROR(parse_toml("a = 1\nb = \n", "f"), ErrorKind::bad_file, "f:2");
  EXPECT_REGARD_ERROR(parse_toml("a = '\xFF'", "f"), ErrorKind::bad_file, "(byte 5)");
  const toml::table table = parse_toml("a = 1\n[b]\nc = 'x'\nd = [1]\ne = 2.5\nf = true\n", "f");
  EXPECT_EQ(place_of(*table.get("a"), "f").line, 1);
  EXPECT_EQ(describe(*table.get("a")), "the number 1");
  EXPECT_EQ(describe(*table.get("b")), "a table");
  EXPECT_EQ(describe(*table["b"]["c"].node()), "the string \"x\"");
  EXPECT_EQ(describe(*table["b"]["d"].node()), "an array");
  EXPECT_EQ(describe(*table["b"]["e"].node()), "the number 2.5");
  EXPECT_EQ(describe(*table["b"]["f"].node()), "true");
  EXPECT_EQ(place_of(*table["b"]["e"].node(), "f").line, 5);
}

}  // namespace
}  // namespace regard::testing
