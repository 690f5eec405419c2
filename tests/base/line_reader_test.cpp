// Reading lines, and normalisation of their white space.
#include "base/line_reader.h"

#include <gtest/gtest.h>

#include "base/plain_text.h"
#include "base/toml.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

std::vector<std::string> lines_in(const std::string& content) {
  testing::TemporaryFolder folder;
  LineReader reader(testing::write_file(folder.path(), "lines.txt", content));
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  return lines;
}

TEST(LineReader, DropsAByteOrderMarkAtTheStartOnly) {
  using ReadLines = std::vector<std::string>;
  EXPECT_EQ(lines_in("\uFEFFone\n\uFEFFtwo"), (ReadLines{"one", "\uFEFFtwo"}));
  EXPECT_EQ(lines_in("\uFEFF\none\r\n"), (ReadLines{"", "one"}));
  EXPECT_EQ(lines_in("\uFEFF"), ReadLines{});
  EXPECT_EQ(lines_in(""), ReadLines{});
  EXPECT_EQ(lines_in("\uFEFF" + std::string(200000, 'x')), (ReadLines{std::string(200000, 'x')}));
  EXPECT_EQ(lines_in(std::string("a\0b\n\0", 5)), (ReadLines{std::string("a\0b", 3), std::string(1, '\0')}));
}

TEST(LineReader, FlagsALineThatIsTooLong) {
  const std::string longest(LineReader::kMaxLine + 3 * InputStream::kPiece, 'x');
  testing::TemporaryFolder folder;
  for (const char* end : {"", "\n", "\ntwo"}) {
    LineReader reader(testing::write_file(folder.path(), "lines.txt", "one\n" + longest + end),
                      BadUtf8::flag_long);
    std::string line;
    ASSERT_TRUE(reader.next(line) && line == "one" && reader.valid());
    ASSERT_TRUE(reader.next(line));
    EXPECT_EQ(line, "");
    EXPECT_FALSE(reader.valid());
    EXPECT_EQ(reader.fault().message(), "the line is too long");
    EXPECT_EQ(reader.fault().place().line, 2);
    if (std::string_view(end) == "\ntwo") {
      EXPECT_TRUE(reader.next(line) && line == "two" && reader.valid());
    }
    EXPECT_FALSE(reader.next(line));
    EXPECT_EQ(reader.bad_lines(), 1);
  }
}

TEST(ByteOrderMark, OfTomlIsNoMistake) {
  EXPECT_EQ(*parse_toml("\uFEFFa = 1\n", "f.toml")["a"].value<int>(), 1);
}

TEST(NormalizeWhitespace, OneSpaceForEachRunAndNoneOutside) {
  const auto check = [](const std::string& text, const std::string& expected) {
    EXPECT_EQ(normalize_whitespace(text), expected) << text;
    EXPECT_EQ(normalize_whitespace(normalize_whitespace(text)), expected) << text;
  };
  check("", "");
  check(" \t\u00A0\u3000 ", "");
  check("\uFEFF", "");
  check("\uFEFF one", "one");
  check("one  two \t three ", "one two three");
  check("one\ttwo\vthree\rfour", "one two three four");
  check("oui\u00A0! \u202F\u00AB non", "oui\u00A0! \u00AB non");
  check("\u6F22\u3000\u5B57", "\u6F22\u3000\u5B57");
  check("\u6F22\u3000\u3000\u5B57", "\u6F22 \u5B57");
  check("a\uFEFFb", "a\uFEFFb");
  check(std::string("a\0 b", 4), std::string("a\0 b", 4));
}

TEST(LineReader, AFolderIsNoFileOfLines) {
  testing::TemporaryFolder folder;
  LineReader reader(folder.path());
  std::string line;
  EXPECT_REGARD_ERROR(reader.next(line), ErrorKind::io, "Is a directory");
}

}  // namespace
}  // namespace regard::testing
