// The progress line has the expected text and never wraps.
#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "support/environment.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

// A bar of 20 cells with `filled` of them filled.
std::string bar(int filled) {
  std::string cells;
  for (int i = 0; i < 20; ++i) cells += i < filled ? "━" : "─";
  return cells;
}

TEST(Progress, DurationsInTheirLargestUnit) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(0.6), "1 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(83), "1:23");
  EXPECT_EQ(duration_text(3599), "59:59");
  EXPECT_EQ(duration_text(3600), "1:00:00");
  EXPECT_EQ(duration_text(2 * 3600 + 3 * 60 + 9), "2:03:09");
  EXPECT_EQ(duration_text(-1), "");
  EXPECT_EQ(duration_text(1e9), "");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::quiet_NaN()), "");
}

TEST(Progress, LinesAreTheseTexts) {
  EXPECT_EQ(compose({.fraction = 0.25, .elapsed = 20, .text = "loss 3.2"}),
            "loss 3.2 " + bar(5) + " 25 % 1:00 left");
  EXPECT_EQ(compose({.fraction = 0, .elapsed = 9, .text = "a"}), "a " + bar(0) + " 0 %");
  EXPECT_EQ(compose({.fraction = 1, .elapsed = 9, .text = ""}), bar(20) + " 100 % 0 s left");
  EXPECT_EQ(compose({.fraction = 7, .elapsed = 9, .text = ""}), bar(20) + " 100 % 0 s left");
  EXPECT_EQ(compose({.fraction = -1, .elapsed = 9, .text = ""}), bar(0) + " 0 %");
  EXPECT_EQ(compose({.fraction = std::numeric_limits<double>::quiet_NaN(), .text = ""}), bar(0) + " 0 %");
  // Resumed at 50 %: a quarter took 10 s, so the remaining quarter takes 10 s.
  EXPECT_EQ(compose({.fraction = 0.75, .elapsed = 10, .first = 0.5, .text = ""}),
            bar(15) + " 75 % 10 s left");
  EXPECT_EQ(compose({.fraction = 0.5, .elapsed = 10, .text = "", .colour = true}),
            "\x1b[32m━━━━━━━━━━\x1b[0m────────── 50 % 10 s left");
}

TEST(Progress, NeverFillsTheLastColumn) {
  for (int columns = 0; columns <= 80; ++columns)
    for (const std::string_view text : {"loss 3.21 · 12k tokens/s", "試験試験試験試験", ""}) {
      const std::string line = compose({.fraction = 0.42, .elapsed = 60, .text = text, .columns = columns});
      EXPECT_LE(utf8::width(line), std::max(columns - 1, 0)) << line;
      EXPECT_TRUE(utf8::valid(line));
      EXPECT_EQ(line.find(" 42 % 1:23 left") != std::string::npos, columns >= 16) << columns;
      // The text is truncated to fit; the bar is shown only if it fits as a whole.
      EXPECT_EQ(line.find(bar(8)) != std::string::npos, columns >= 37) << columns;
      EXPECT_EQ(line.find("━") != std::string::npos, columns >= 37) << columns;
    }
  EXPECT_EQ(compose({.fraction = 0.42, .elapsed = 60, .text = "abcdef", .columns = 20}),
            "abcd 42 % 1:23 left");
  EXPECT_EQ(compose({.fraction = 0.42, .elapsed = 60, .text = "abcdef", .columns = 41}),
            "abcd " + bar(8) + " 42 % 1:23 left");
}

// A terminal may report 0 for a size that it does not know.
TEST(Progress, ASizeThatTheTerminalDoesNotKnowHasItsDefault) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "the system has no pseudo-terminals";
  const auto size_of = [&](unsigned short columns, unsigned short rows) {
    winsize size{};
    size.ws_col = columns, size.ws_row = rows;
    EXPECT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
    const TerminalSize found = terminal_size(terminal);
    return std::pair(found.columns, found.rows);
  };
  EXPECT_EQ(size_of(132, 43), std::pair(132, 43));
  EXPECT_EQ(size_of(1, 0), std::pair(1, 24));
  EXPECT_EQ(size_of(0, 1), std::pair(80, 1));
  ::close(terminal);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(terminal_size(ends[0]).columns, 80);
  EXPECT_EQ(terminal_size(ends[0]).rows, 24);
  EXPECT_FALSE(colour_allowed(ends[0])) << "a pipe is no terminal";
  ::close(ends[0]), ::close(ends[1]);
}

TEST(Progress, ColourNeedsATerminalThatShowsIt) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "the system has no pseudo-terminals";
  if (::isatty(terminal) == 0) GTEST_SKIP() << "this end of a pseudo-terminal is not a terminal";
  const auto allowed = [&](std::optional<std::string> kind, std::optional<std::string> no_colour) {
    const testing::Environment environment({{"TERM", std::move(kind)}, {"NO_COLOR", std::move(no_colour)}});
    return colour_allowed(terminal);
  };
  EXPECT_TRUE(allowed("xterm", {}));
  EXPECT_TRUE(allowed({}, {}));
  EXPECT_TRUE(allowed("", "")) << "an empty value is no value";
  EXPECT_FALSE(allowed("xterm", "0"));
  EXPECT_FALSE(allowed("dumb", {}));
  ::close(terminal);
}

}  // namespace
}  // namespace regard::testing
