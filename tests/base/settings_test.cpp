// TOML, nearest-name suggestions, the progress line, printable error messages, the checksum.
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/nearest.h"
#include "base/progress.h"
#include "base/toml.h"
#include "base/utf8.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(Toml, NamesTheLine) {
  EXPECT_REGARD_ERROR(parse_toml("a = 1\nb = = 2\n", "run.toml"), ErrorKind::bad_file, "run.toml:2");
  EXPECT_REGARD_ERROR(parse_toml("a = 1\na = 2\n", "run.toml"), ErrorKind::bad_file, "run.toml:2");
  EXPECT_REGARD_ERROR(parse_toml("a = \"\xFF\"", "run.toml"), ErrorKind::bad_file, "not UTF-8");
  EXPECT_REGARD_ERROR(read_toml("/nonexistent.toml"), ErrorKind::io, "No such file");
  const toml::table table = parse_toml("x = 1\n[t]\ny = \"z\"\nf = 1.5\n", "run.toml");
  EXPECT_EQ(place_of(*table["t"]["y"].node(), "run.toml").line, 3);
  EXPECT_EQ(describe(*table["t"]["y"].node()), "the string \"z\"");
  EXPECT_EQ(describe(*table["t"]["f"].node()), "the number 1.5");
  EXPECT_EQ(describe(*table["t"].node()), "a table");
}

TEST(Nearest, FindsTypingErrorsOnly) {
  const std::vector<std::string> names = {"learning_rate", "hidden_size", "encoder_layers", "dropout",
                                          "heads"};
  EXPECT_EQ(nearest("learning_rte", names), "learning_rate");
  EXPECT_EQ(nearest("hidden-size", names), "hidden_size");
  EXPECT_EQ(nearest("haeds", names), "heads");
  EXPECT_EQ(nearest("layers", names), "encoder_layers");
  EXPECT_EQ(nearest("zzzzzz", names), "");
  EXPECT_EQ(nearest(std::string(std::size_t{1} << 24, 'z'), names), "");  // in linear time
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(Progress, ComposesALineThatFits) {
  for (int columns = 1; columns < 120; ++columns)
    EXPECT_LT(utf8::width(compose({0.42, 100, 0, "loss 3.21 हिन्दी 日本語", columns, false})), columns + 1);
  const std::string line = compose({0.25, 30, 0, "loss 3.2", 80, false});
  EXPECT_EQ(line, "loss 3.2 ━━━━━─────────────── 25 % 1:30 left");
  // Resumed at 50 %: a quarter took 30 s, so the remaining quarter takes 30 s.
  EXPECT_NE(compose({0.75, 30, 0.5, "", 80, false}).find("30 s left"), std::string::npos);
  EXPECT_EQ(duration_text(59.2), "59 s");
  EXPECT_EQ(duration_text(7389), "2:03:09");
  EXPECT_EQ(duration_text(-1), "");
}

// A file cannot send escape sequences or very long text to the terminal through an error message.
TEST(Error, IsSafeToPrint) {
  const Error error = file_error("a\x1b[2J", "bad\nname \xC2\x9B \x7F é").found(std::string(5000, 'x'));
  const std::string text = error.what();
  EXPECT_TRUE(text.starts_with("a\\x1b[2J: bad\\x0aname \\u009b \\x7f é (found xxx")) << text;
  EXPECT_LT(text.size(), 800u);
  EXPECT_NE(text.find("(5000 bytes)"), std::string::npos);
}

// The hash of the empty input is published with the algorithm.
TEST(Xxh3, KnownValueAndStream) {
  EXPECT_EQ(hex(xxh3("")), "2d06800538d394c2");
  const std::string text(100000, 'q');
  Xxh3Stream stream;
  stream.add(std::as_bytes(std::span(text)).first(777));
  stream.add(std::as_bytes(std::span(text)).subspan(777));
  EXPECT_EQ(stream.value(), xxh3(text));
}

}  // namespace
}  // namespace regard::testing
