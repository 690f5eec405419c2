#include "inspect/heat_map.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/utf8.h"

namespace regard::inspect {
namespace {

using Labels = std::vector<std::string>;

Map map_of(std::int64_t rows, std::int64_t columns, std::vector<float> weights) {
  Map map;
  map.head = {Kind::cross, 0, 0};
  map.rows = rows, map.columns = columns, map.weights = std::move(weights);
  return map;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

TEST(HeatMap, StandsInColumnsForDevanagariAndWideLetters) {
  const Labels rows{"परीक्षा", "एक", "試験"}, columns{"The", "exam", "試験"};
  const std::string text =
      heat_map(map_of(3, 3, {0.9f, 0.1f, 0.0f, 0.25f, 0.25f, 0.5f, 0.0f, 0.0f, 1.0f}), rows, columns, {});
  const auto shown = lines(text);
  ASSERT_EQ(shown.size(), 4u);
  const int width = utf8::width(shown[0]);
  for (const std::string& line : shown) EXPECT_EQ(utf8::width(line), width) << text;
  EXPECT_NE(shown[1].find(" 90"), std::string::npos);
  EXPECT_NE(shown[1].find("·"), std::string::npos);  // the weight 0
  EXPECT_NE(shown[3].find("100"), std::string::npos);
}

TEST(HeatMap, NumbersColumnsThatHaveNoRoomForLabels) {
  const Labels labels(12, "elephantine");
  const std::string text =
      heat_map(map_of(12, 12, std::vector<float>(144, 1.0f / 12)), labels, labels, {70, 60, false});
  for (const std::string& line : lines(text)) EXPECT_LE(utf8::width(line), 70) << line;
  EXPECT_NE(text.find("11 elephantine"), std::string::npos) << text;
  EXPECT_EQ(text.find("omitted"), std::string::npos);
}

TEST(HeatMap, SaysWhatItLeavesOut) {
  const Labels rows(100, "r"), columns(50, "c");
  const std::string text =
      heat_map(map_of(100, 50, std::vector<float>(5000, 0.02f)), rows, columns, {40, 10, false});
  for (const std::string& line : lines(text))
    EXPECT_TRUE(utf8::width(line) <= 40 || line.find("omitted") != std::string::npos) << line;
  EXPECT_NE(text.find("90 of 100 rows and 41 of 50 columns omitted"), std::string::npos) << text;
}

TEST(HeatMap, ColoursOnlyWhenAsked) {
  const Labels labels{"a"};
  const Map map = map_of(1, 1, {1.0f});
  EXPECT_EQ(heat_map(map, labels, labels, {80, 60, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(heat_map(map, labels, labels, {80, 60, true}).find("\x1b[48;5;18"), std::string::npos);
}

TEST(HeatMap, CutsAtGraphemes) {
  EXPECT_EQ(shortened("किताबें", 20), "किताबें");
  const std::string cut = shortened("खिड़कियाँ", 3);
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_LE(utf8::width(cut), 3);
  EXPECT_TRUE(utf8::valid(cut));
  EXPECT_EQ(shortened("खिड़की", 3), "खि…");  // the vowel sign stays with its letter
}

TEST(HeatMap, IsThisText) {
  const Labels rows{"a", "bb"}, columns{"x", "yyyy"};
  const Map map = map_of(2, 2, {0.25f, 0.75f, 1.0f, 0.0f});
  EXPECT_EQ(heat_map(map, rows, columns, {}),
            "     x yyyy\n"
            " a  25   75\n"
            "bb 100    ·\n");
  EXPECT_EQ(heat_map(map_of(1, 2, {0.004f, 0.006f}), rows, columns, {}),
            "    x yyyy\n"
            "a   ·    1\n");
  EXPECT_EQ(heat_map(map_of(0, 2, {}), {}, columns, {}), "");
  EXPECT_EQ(padded("ab", 4, false), "ab  ");
  EXPECT_EQ(padded("ab", 4, true), "  ab");
  EXPECT_EQ(padded("ab", 1, true), "ab");
  EXPECT_EQ(shortened("abcd", 4), "abcd");
  EXPECT_EQ(shortened("abcd", 3), "ab…");
}

TEST(HeatMap, TakesAllTheRoomThatThereIs) {
  const Labels rows{"r", "s"}, columns{"abc", "def", "ghi"};
  const Map map = map_of(2, 3, {0.1f, 0.2f, 0.7f, 0.3f, 0.3f, 0.4f});
  // A width of 13 is enough for row labels of one letter, followed by 3 columns of a space and 3 letters.
  EXPECT_EQ(lines(heat_map(map, rows, columns, {13, 2, false}))[0], "  abc def ghi");
  EXPECT_EQ(heat_map(map, rows, columns, {12, 1, false}),
            "    0   1\n"
            "r  10  20\n"
            "0 abc  1 def\n"
            "… 1 of 2 rows and 1 of 3 columns omitted; the JSON output has all.\n");
  // The legend of numbered columns uses the full width.
  const Labels wide{"abcd", "efgh", "ijkl"};
  EXPECT_EQ(heat_map(map, rows, wide, {14, 2, false}),
            "    0   1   2\n"
            "r  10  20  70\n"
            "s  30  30  40\n"
            "0 abcd  1 efgh\n"
            "2 ijkl\n");
}

TEST(HeatMap, EightShadesDarkerWithTheWeight) {
  const Labels label{"a"};
  const int backgrounds[] = {231, 195, 153, 111, 75, 33, 26, 18};
  for (int step = 0; step < 8; ++step)
    for (const float weight : {static_cast<float>(step) / 8, (static_cast<float>(step) + 0.9f) / 8}) {
      const std::string expected =
          "\x1b[48;5;" + std::to_string(backgrounds[step]) + ";38;5;" + (step < 4 ? "16m" : "231m");
      EXPECT_NE(heat_map(map_of(1, 1, {weight}), label, label, {80, 60, true}).find(expected),
                std::string::npos)
          << weight;
    }
}

}  // namespace
}  // namespace regard::inspect
