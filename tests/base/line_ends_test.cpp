// Line endings, line numbers, and lines longer than the reader's buffer.
#include "base/line_reader.h"

#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using Lines = std::vector<std::string>;

class LineReading : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) {
    return testing::write_file(folder_.path(), "lines", content);
  }
  Lines read(const std::string& content, bool look_first = false) {
    LineReader reader(file(content));
    Lines lines;
    for (std::string line; (!look_first || reader.ready()) && reader.next(line);) {
      lines.push_back(line);
      EXPECT_EQ(reader.line_number(), static_cast<std::int64_t>(lines.size()));
    }
    std::string again = "kept";
    EXPECT_FALSE(reader.next(again)) << "the end stays the end";
    return lines;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(LineReading, EndsOfLines) {
  for (const bool look_first : {false, true}) {
    EXPECT_EQ(read("", look_first), Lines{});
    EXPECT_EQ(read("a", look_first), Lines{"a"});
    EXPECT_EQ(read("a\n", look_first), Lines{"a"});
    EXPECT_EQ(read("\n", look_first), Lines{""});
    EXPECT_EQ(read("a\n\nb", look_first), (Lines{"a", "", "b"}));
    EXPECT_EQ(read("a\r\nb\r\n", look_first), (Lines{"a", "b"}));
    EXPECT_EQ(read("\r\n\r", look_first), (Lines{"", "\r"}))
        << "a return without a line end belongs to the line";
    EXPECT_EQ(read("a\rb\n", look_first), Lines{"a\rb"});
  }
}

TEST_F(LineReading, LinesOfAnyLength) {
  std::string content;
  Lines expected;
  for (std::size_t i = 0; i < 40; ++i) {
    const std::size_t sizes[] = {0, 1, 65535, 65536, 65537, 200'000, 30};
    expected.emplace_back(sizes[i % 7] + i / 7, static_cast<char>('a' + i % 26));
    content += expected.back() + (i % 3 == 0 ? "\r\n" : "\n");
  }
  EXPECT_EQ(read(content), expected);
  EXPECT_EQ(read(content, true), expected);
}

TEST_F(LineReading, BadUtf8IsRefusedFlaggedOrKept) {
  const auto path = file(
      "good\nb\xFF"
      "d\ngood\n\xC3\n");
  std::string line;
  {
    LineReader reader(path);
    EXPECT_TRUE(reader.next(line));
    EXPECT_REGARD_ERROR(reader.next(line), ErrorKind::bad_file, ":2 (byte 1)");
  }
  LineReader flags(path, BadUtf8::flag);
  std::vector<bool> valid;
  while (flags.next(line)) valid.push_back(flags.valid());
  EXPECT_EQ(valid, (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(flags.bad_lines(), 2);
  LineReader keeps(path, BadUtf8::keep);
  while (keeps.next(line)) EXPECT_TRUE(keeps.valid());
  EXPECT_EQ(keeps.bad_lines(), 0);
  EXPECT_EQ(keeps.line_number(), 4);
  EXPECT_REGARD_ERROR(LineReader(folder_ / "none"), ErrorKind::io, "none");
}

}  // namespace
}  // namespace regard::testing
