// The table of a study as text, CSV, JSON and SVG.
#include "inspect/study_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/json.h"
#include "inspect/svg.h"

namespace regard::inspect {
namespace {

StudyTable some_table() {
  StudyTable table;
  table.study = "heads", table.title = "A title";
  table.columns = {"name", "first", "second"};
  table.rows = {{"a,b", -0.0004, 2.5}, {"long \"é\"", 0.5, ""}, {"x", "", -4.5}};
  table.notes = {"A note."};
  return table;
}

TEST(StudyTable, TextIsAligned) {
  const StudyTable table = some_table();
  const std::string whole =
      "A title\n\n"
      "name      first  second\n"
      "a,b       0.000   2.500\n"
      "long \"é\"  0.500\n"
      "x                -4.500\n"
      "\nA note.\n";
  EXPECT_EQ(table.text(), whole);
  EXPECT_EQ(table.text(3), whole);
  EXPECT_EQ(table.text(1),
            "A title\n\n"
            "name  first  second\n"
            "a,b   0.000   2.500\n"
            "… and 2 more\n"
            "\nA note.\n");
}

TEST(StudyTable, TextColumnsAreThoseWhoseFirstValueIsAText) {
  StudyTable table;
  table.title = "A title", table.digits = 1;
  table.columns = {"text", "empty", "number"};
  table.rows = {{"", "", ""}, {"a", "", 1.0}};
  EXPECT_EQ(table.text(),
            "A title\n\n"
            "text  empty  number\n"
            "\n"
            "a               1.0\n");
  // a number in a column of texts
  table.rows = {{"a", "", 1.0}, {2.5, "", 1.0}};
  EXPECT_NE(table.svg().find(">2.5<"), std::string::npos);
}

TEST(StudyTable, CsvAndJsonHaveEveryDigit) {
  const StudyTable table = some_table();
  EXPECT_EQ(table.csv(),
            "name,first,second\r\n"
            "\"a,b\",-0.0004,2.5\r\n"
            "\"long \"\"é\"\"\",0.5,\r\n"
            "x,,-4.5\r\n");
  const Json expected = Json::parse(R"({"study": "heads", "title": "A title",
      "columns": ["name", "first", "second"],
      "rows": [{"name": "a,b", "first": -0.0004, "second": 2.5},
               {"name": "long \"é\"", "first": 0.5, "second": ""},
               {"name": "x", "first": "", "second": -4.5}],
      "notes": ["A note."]})");
  EXPECT_EQ(table.json(), expected);
}

// Text is 7.2 pixels wide per letter, a column of numbers 76 pixels, and a row is 20 pixels high.
TEST(StudyTable, SvgHasACellForEachNumber) {
  using Anchor = SvgWriter::Anchor;
  StudyTable table = some_table();
  table.rows[2][1] = std::numeric_limits<double>::quiet_NaN();
  SvgWriter svg;
  svg.text(12, 22, "A title", "title");
  svg.text(12, 54, "name", "quiet");
  svg.text(12, 78, "a,b", "label");
  svg.text(12, 98, "long \"é\"", "label");
  svg.text(12, 118, "x", "label");
  svg.text(153.6, 54, "first", "quiet", Anchor::end);
  svg.rectangle(83.6, 64, 74, 18, "cell", 0.85 * 0.0008, "first: -0.0004");
  svg.text(153.6, 78, "0.000", "label", Anchor::end);
  svg.rectangle(83.6, 84, 74, 18, "cell", 0.85, "first: 0.5");
  svg.text(153.6, 98, "0.500", "label", Anchor::end);
  svg.rectangle(83.6, 104, 74, 18, "cell", 0, "first: nan");
  svg.text(153.6, 118, "nan", "label", Anchor::end);
  svg.text(229.6, 54, "second", "quiet", Anchor::end);
  svg.rectangle(159.6, 64, 74, 18, "cell", 0.85 * 2.5 / 4.5, "second: 2.5");
  svg.text(229.6, 78, "2.500", "label", Anchor::end);
  svg.text(229.6, 98, "", "label", Anchor::end);
  svg.rectangle(159.6, 104, 74, 18, "cell", 0.85, "second: -4.5");
  svg.text(229.6, 118, "-4.500", "label", Anchor::end);
  svg.text(12, 140, "A note.", "quiet");
  EXPECT_EQ(table.svg(), svg.document(480, 156, "A title"));
}

TEST(StudyTable, SvgHasAtMost400Rows) {
  for (const std::size_t count : {400u, 401u}) {
    StudyTable table;
    table.title = "A title", table.columns = {"number"};
    table.rows.assign(count, {1.0});
    const std::string svg = table.svg();
    std::size_t cells = 0;
    for (std::size_t at = svg.find("number: 1"); at != svg.npos; at = svg.find("number: 1", at + 1)) ++cells;
    EXPECT_EQ(cells, 400u);
    EXPECT_EQ(svg.find("… and 1 more") != svg.npos, count == 401);
  }
}

}  // namespace
}  // namespace regard::inspect
