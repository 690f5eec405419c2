// Reading lines, and normalisation of their white space.
#include "base/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/file.h"
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

TEST(LineReader, NumbersLinesAndHandlesEveryEnd) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "one\n\r\n\nfour\r\nfive");
  LineReader reader(folder / "x");
  std::string line;
  std::vector<std::string> lines;
  while (reader.next(line)) lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "", "four", "five"}));
  EXPECT_EQ(reader.line_number(), 5);
  EXPECT_FALSE(reader.next(line));
  write_file_atomically(folder / "x", std::string(200000, 'a') + "\n" + std::string(70000, 'b') + "\n");
  LineReader longer(folder / "x");
  ASSERT_TRUE(longer.next(line));
  EXPECT_EQ(line.size(), 200000u);
  ASSERT_TRUE(longer.next(line));
  EXPECT_EQ(line, std::string(70000, 'b'));
  EXPECT_FALSE(longer.next(line));
}

TEST(LineReader, RefusesOrFlagsBadUtf8) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "good\nb\xFFz\ngood\n");
  std::string line;
  LineReader strict(folder / "x");
  ASSERT_TRUE(strict.next(line));
  EXPECT_REGARD_ERROR(strict.next(line), ErrorKind::bad_file, "x:2 (byte 1)");
  LineReader lenient(folder / "x", BadUtf8::flag);
  while (lenient.next(line)) EXPECT_EQ(lenient.valid(), lenient.line_number() != 2);
  EXPECT_EQ(lenient.bad_lines(), 1);
  EXPECT_EQ(lenient.line_number(), 3);
  EXPECT_REGARD_ERROR(LineReader(folder / "none"), ErrorKind::io, "No such file");
}

TEST(LineReader, KnowsWhetherALineHasArrived) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_FALSE(reader.ready());
  ASSERT_EQ(::write(ends[1], "half", 4), 4);
  EXPECT_FALSE(reader.ready());
  ASSERT_EQ(::write(ends[1], "\nx", 2), 2);
  EXPECT_TRUE(reader.ready());
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "half");
  EXPECT_FALSE(reader.ready());
  ::close(ends[1]);
  EXPECT_TRUE(reader.ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "x");
  EXPECT_FALSE(reader.next(line));
  ::close(ends[0]);
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
