#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "inspect/capture_json.h"
#include "inspect/page.h"
#include "inspect/svg.h"

namespace regard::inspect {
namespace {

View two_heads() {
  View view;
  view.model = "m";
  view.text = "a </script><!-- & \"b\"";
  view.translation = "परीक्षा एक";
  view.tokens = {{"exam", "</script>", "مرحبا"}, {"<s>", "परीक्षा"}, {"परीक्षा", "👩‍👩‍👧"}};
  for (std::int64_t head = 0; head < 2; ++head) {
    Map map;
    map.head = {Kind::cross, 1, head};
    map.rows = 2, map.columns = 3;
    map.weights = {0.1f, 0.2f, 0.7f, 1.0f / 3, 1.0f / 3, 1.0f / 3};
    view.maps.push_back(map);
  }
  return view;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Page, HoldsTheNumbersOfTheJson) {
  const View view = two_heads();
  const std::string page = to_html(view);
  const std::string opening = "id=\"data\">";
  const std::size_t begin = page.find(opening) + opening.size(), end = page.find("</script>", begin);
  const std::string data = page.substr(begin, end - begin);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(data), nlohmann::json::parse(to_json(view)));
}

TEST(Page, AsksNothingOfANetwork) {
  const std::string page = to_html(two_heads());
  for (const char* outside :
       {"<link", "<img", "<iframe", "@import", "url(", "XMLHttpRequest", "WebSocket", "import(", "https:"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  // The served page may send requests to its server. In a written file, a policy before the first script
  // forbids requests.
  const std::size_t policy = page.find("connect-src 'none'");
  EXPECT_LT(page.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"), policy);
  EXPECT_LT(policy, page.find("<script"));
  EXPECT_FALSE(std::regex_search(page, std::regex("<script[^>]*src=")));
  EXPECT_EQ(count(page, "</script>"), 2u);
}

TEST(Svg, DrawsEveryCellWithItsNumber) {
  const std::string svg = to_svg(two_heads());
  EXPECT_EQ(count(svg, "class=\"cell\""), 12u);
  EXPECT_NE(svg.find("परीक्षा → exam: 0.1<"), std::string::npos);
  EXPECT_NE(svg.find("👩‍👩‍👧 → exam: 0.33333334<"), std::string::npos);
  EXPECT_EQ(count(svg, "<title>"), count(svg, "</title>"));
  EXPECT_NE(svg.find("&lt;/script&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("</script>"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

struct Drawn {
  double x = 0, y = 0, width = 0, height = 0, opacity = 0;
  std::string words;
};

// Return every element that matches the pattern of attributes.
std::vector<Drawn> elements(const std::string& svg, const std::string& pattern) {
  std::vector<Drawn> all;
  const std::regex expression(pattern);
  for (std::sregex_iterator match(svg.begin(), svg.end(), expression), end; match != end; ++match) {
    Drawn& one = all.emplace_back();
    one.x = std::stod((*match)[1]), one.y = std::stod((*match)[2]);
    if (match->size() == 4) one.words = (*match)[3];
    if (match->size() < 6) continue;
    one.width = std::stod((*match)[3]), one.height = std::stod((*match)[4]),
    one.opacity = std::stod((*match)[5]);
  }
  return all;
}

// The elements that the picture of two_heads() consists of.
struct Elements {
  explicit Elements(const std::string& svg) {
    const std::string at = R"re(x="([-.\d]+)" y="([-.\d]+)")re";
    cells = elements(svg, R"re(class="cell" )re" + at +
                              R"re( width="([.\d]+)" height="([.\d]+)" fill-opacity="([.\d]+)")re");
    numbers = elements(svg, R"re(class="(?:number|strong)" )re" + at + R"re( text-anchor="middle">(\d+)<)re");
    strong = elements(svg, R"re(class="strong" )re" + at + R"re( text-anchor="middle">(\d+)<)re");
    titles = elements(svg, R"re(class="title" )re" + at + R"re( text-anchor="start">([^<]*)<)re");
    above = elements(svg, R"re(class="label" )re" + at +
                              R"re( text-anchor="start" transform="rotate\(-55[^>]*>([^<]*)<)re");
    left = elements(svg, R"re(class="label" )re" + at + R"re( text-anchor="end">([^<]*)<)re");
    right = elements(svg, R"re(class="label" )re" + at + R"re( text-anchor="start">([^<]*)<)re");
  }
  bool complete() const {
    return cells.size() == 12 && numbers.size() == 12 && titles.size() == 2 && above.size() == 6 &&
           // left: row labels of the grids and left-hand labels of the lines
           left.size() == 8 && right.size() == 6;
  }

  std::vector<Drawn> cells, numbers, strong, titles, above, left, right;
};

// Cells form a grid. Each has its number in its centre, its row label to the left and its column label above.
TEST(Svg, DrawsAGridOfCells) {
  const View view = two_heads();
  const std::string svg = to_svg(view);
  const Elements drawn(svg);
  ASSERT_TRUE(drawn.complete());
  ASSERT_EQ(drawn.strong.size(), 2u) << "0.7 in both maps";
  EXPECT_EQ(drawn.strong[0].words, "70");
  const double steps = drawn.cells[1].x - drawn.cells[0].x;
  EXPECT_EQ(steps, 30);
  for (std::size_t m = 0; m < 2; ++m)
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t c = 0; c < 3; ++c) {
        const Drawn &cell = drawn.cells[m * 6 + r * 3 + c], &number = drawn.numbers[m * 6 + r * 3 + c];
        EXPECT_NEAR(cell.x, drawn.cells[0].x + static_cast<double>(c) * steps, 0.11);
        EXPECT_NEAR(cell.y, drawn.cells[m * 6].y + static_cast<double>(r) * steps, 0.11);
        EXPECT_EQ(cell.width, steps - 1);
        EXPECT_EQ(cell.height, steps - 1);
        const double weight =
            static_cast<double>(view.maps[m].at(static_cast<std::int64_t>(r), static_cast<std::int64_t>(c)));
        EXPECT_NEAR(cell.opacity, weight, 0.0006);
        EXPECT_EQ(number.words, std::to_string(std::lround(weight * 100)));
        EXPECT_NEAR(number.x, cell.x + 15, 0.2);
        EXPECT_GT(number.y, cell.y + 10);
        EXPECT_LT(number.y, cell.y + 29);
        EXPECT_GT(drawn.above[m * 3 + c].x, cell.x);
        EXPECT_LT(drawn.above[m * 3 + c].x, cell.x + 30);
        EXPECT_LT(drawn.above[m * 3 + c].y, drawn.cells[m * 6].y);
        EXPECT_GT(drawn.above[m * 3 + c].y, drawn.cells[m * 6].y - 15);
        const Drawn& row = drawn.left[m * 4 + r];
        EXPECT_NEAR(row.x, drawn.cells[0].x - 10, 0.11);
        EXPECT_GT(row.y, cell.y + 10);
        EXPECT_LT(row.y, cell.y + 29);
      }
  EXPECT_EQ(drawn.above[0].words, "exam");
  EXPECT_EQ(drawn.left[0].words, "परीक्षा");
  EXPECT_GT(drawn.titles[1].y, drawn.cells[5].y + 30) << "the second map is below the first";
  EXPECT_LT(drawn.titles[0].y, drawn.above[0].y - 20);
  EXPECT_GT(drawn.cells[6].y, drawn.titles[1].y + 30);
}

// Lines connect row labels with column labels.
TEST(Svg, DrawsLinesBetweenTheTokens) {
  const View view = two_heads();
  const std::string svg = to_svg(view);
  const Elements drawn(svg);
  ASSERT_TRUE(drawn.complete());
  // Tokens are in two columns; the shorter one is centred vertically on the longer.
  const double rows_y = (drawn.left[2].y + drawn.left[3].y) / 2,
               columns_y = (drawn.right[0].y + drawn.right[1].y + drawn.right[2].y) / 3;
  EXPECT_NEAR(rows_y, columns_y, 0.11);
  EXPECT_NEAR(drawn.right[1].y - drawn.right[0].y, 26, 0.11);
  EXPECT_NEAR(drawn.left[3].y - drawn.left[2].y, 26, 0.11);
  EXPECT_NEAR(drawn.right[0].x - drawn.left[2].x, 170, 0.11);
  EXPECT_GT(drawn.left[2].x, drawn.cells[2].x + 60);
  const std::regex line(
      R"re(d="M([.\d]+) ([.\d]+)C([.\d]+) ([.\d]+) ([.\d]+) ([.\d]+) ([.\d]+) ([.\d]+)" stroke-width="([.\d]+)" stroke-opacity="([.\d]+)")re");
  std::vector<std::vector<double>> lines;
  for (std::sregex_iterator match(svg.begin(), svg.end(), line), end; match != end; ++match) {
    std::vector<double>& one = lines.emplace_back();
    for (std::size_t i = 1; i < match->size(); ++i) one.push_back(std::stod((*match)[i]));
  }
  ASSERT_EQ(lines.size(), 12u);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& one = lines[i];
    const double weight = static_cast<double>(view.maps[0].weights[i]);
    EXPECT_NEAR(one[0], drawn.left[2].x + 10, 0.11);
    EXPECT_NEAR(one[1], drawn.left[2 + i / 3].y - 5, 0.11);
    EXPECT_NEAR(one[6], drawn.right[0].x - 10, 0.11);
    EXPECT_NEAR(one[7], drawn.right[i % 3].y - 5, 0.11);
    EXPECT_NEAR(one[2], (one[0] + one[6]) / 2, 0.11) << "leaves and arrives level";
    EXPECT_EQ(one[4], one[2]);
    EXPECT_EQ(one[3], one[1]);
    EXPECT_EQ(one[5], one[7]);
    EXPECT_NEAR(one[8], 0.5 + 4 * weight, 0.006);
    EXPECT_NEAR(one[9], 0.15 + 0.85 * weight, 0.0006);
  }
}

// Maps are stacked vertically, and everything is inside the picture.
TEST(Svg, IsAsLargeAsItsElements) {
  const std::string svg = to_svg(two_heads());
  const Elements drawn(svg);
  ASSERT_TRUE(drawn.complete());
  std::smatch size;
  ASSERT_TRUE(std::regex_search(svg, size,
                                std::regex(R"re(width="(\d+)" height="(\d+)" viewBox="0 0 (\d+) (\d+)")re")));
  EXPECT_EQ(size[1], size[3]);
  EXPECT_EQ(size[2], size[4]);
  const double width = std::stod(size[1]), height = std::stod(size[2]);
  EXPECT_GT(width, drawn.right[0].x + 30);
  EXPECT_LT(width, drawn.right[0].x + 120);
  EXPECT_GT(height, drawn.cells[11].y + 30);
  EXPECT_LT(height, drawn.cells[11].y + 120);
}

TEST(Svg, LeavesOutWhatCannotBeSeen) {
  View view = two_heads();
  view.maps.resize(1);
  view.maps[0].weights = {0.004f, 0.006f, 0.99f, 0.019f, 0.021f, 0.96f};
  const std::string svg = to_svg(view);
  EXPECT_EQ(count(svg, "class=\"line\""), 3u) << "from 0.02 on";
  EXPECT_EQ(count(svg, "class=\"number\"") + count(svg, "class=\"strong\""), 5u) << "from 0.005 on";
  EXPECT_EQ(count(svg, "class=\"strong\""), 2u);
}

// A small map is narrower than the colour scale, which is 354 pixels wide and has five steps.
TEST(Svg, TheColourScaleIsBelowTheMaps) {
  View view;
  view.tokens.source = view.tokens.target = {"a"};
  view.text = "a", view.pair = "b";
  Map map;
  map.head = {Kind::encoder, 0, 0};
  map.rows = map.columns = 1, map.weights = {1.0f};
  view.maps.push_back(map);
  const std::string svg = to_svg(view);
  EXPECT_NE(svg.find("width=\"386\" height=\"162\""), std::string::npos) << svg.substr(0, 200);
  EXPECT_NE(svg.find("<title>Attention: a | b</title>"), std::string::npos);
  SvgWriter legend;
  legend.text(16, 145.045, "0 %", "quiet");
  for (int step = 0; step < 5; ++step)
    legend.rectangle(44 + 22 * step, 134.045, 21, 12, "scale", 0.25 * step);
  legend.text(160, 145.045, "100 % of each row's attention", "quiet");
  const std::string expected = legend.document(1, 1, "");
  const std::size_t begin = expected.find("<text ");
  EXPECT_NE(svg.find(expected.substr(begin)), std::string::npos) << svg << expected;
  // A summary adds a line of text, and the drawing is at least as wide as this line.
  view.maps[0].summary.emplace();
  view.maps[0].summary->caption = std::string(100, 'c');
  const std::string wide = to_svg(view);
  EXPECT_NE(wide.find("width=\"652\" height=\"182\""), std::string::npos) << wide.substr(0, 200);
}

TEST(Svg, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(escaped("a<b>&\"c\"\x01"), "a&lt;b&gt;&amp;&quot;c&quot; ");
  EXPECT_EQ(escaped("\uFFFE\uFFFF\uFFFD\uFF1A"), "\uFFFD\uFFFD\uFFFD\uFF1A");
}

}  // namespace
}  // namespace regard::inspect
