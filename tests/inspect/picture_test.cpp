#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  for (const char* outside : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "https:"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
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

TEST(Svg, EscapesWhatXmlCannotHold) {
  EXPECT_EQ(escaped("a<b>&\"c\"\x01"), "a&lt;b&gt;&amp;&quot;c&quot; ");
}

}  // namespace
}  // namespace regard::inspect
