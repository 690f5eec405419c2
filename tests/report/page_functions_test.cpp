// The progress of long runs in the data of a report, and the functions of the page, which Node.js runs.
#include <gtest/gtest.h>

#include "node_script.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

// Each k-th entry and the last one are kept, where k is the smallest number that leaves at most kMaxPoints.
TEST(ReportProgress, OfALongRunIsThinnedEvenlyAndKeepsTheEnd) {
  constexpr auto kMost = static_cast<std::int64_t>(report::kMaxPoints);
  const auto kept = [](std::int64_t count) {
    report::RunHistory run{.folder = "r"};
    for (std::int64_t step = 0; step < count; ++step)
      run.progress.push_back({.step = step, .epochs = 2.0, .seconds = 3.0});
    std::vector<std::int64_t> steps;
    const Json data = report::report_data(std::span(&run, 1));
    for (const Json& one : data["runs"][0]["progress"]) {
      EXPECT_EQ(one.size(), 3u);
      EXPECT_EQ(one[1], 2.0);
      EXPECT_EQ(one[2], 3.0);
      steps.push_back(one[0].get<std::int64_t>());
    }
    return steps;
  };
  for (const auto& [count, stride] : {std::pair{kMost - 1, 1}, {kMost + 2, 2}, {2 * kMost + 2, 3}}) {
    std::vector<std::int64_t> expected;
    for (std::int64_t step = 0; step < count; step += stride) expected.push_back(step);
    if (expected.back() != count - 1) expected.push_back(count - 1);
    EXPECT_EQ(kept(count), expected) << count;
  }
}

class PageFunctions : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_node()) GTEST_SKIP() << "Node.js is not installed";
  }
};

TEST_F(PageFunctions, NumbersTicksAndMeans) {
  EXPECT_EQ(output_of_node(std::string(report::kChartScript) + R"js(
const print = values => console.log(JSON.stringify(values));
print([null, NaN, 0, 0.000999, 0.001, 0.0123456, 1, 999.94, -2.5, 1000, 1234.5, 999999, 1e6, -1e7].map(shortNumber));
print([linearTicks(0, 10, 2), linearTicks(0, 10, 5), linearTicks(0, 10, 4), linearTicks(1, 9, 4), linearTicks(-3, 3, 3)]);
print([logTicks(1, 10), logTicks(3, 40), logTicks(3, 4)]);
print([smoothed([[1, 4], [2, null], [3, 8]], 0), smoothed([[1, 4], [2, null], [3, 8]], 0.5)]);
print([sameTicks(1, 1), sameTicks(1, 1 + 1e-13), sameTicks(1, 1 + 1e-11), sameTicks(-1, 1)]);
)js"),
            "[\"–\",\"–\",\"0\",\"9.99e-4\",\"0.001\",\"0.01235\",\"1\",\"999.9\",\"-2.5\",\"1,000\","
            "\"1,235\",\"999,999\",\"1.00e+6\",\"-1.00e+7\"]\n"
            "[[0,5,10],[0,2,4,6,8,10],[0,5,10],[2,4,6,8],[-2,0,2]]\n"
            "[[1,2,5,10],[5,10,20],[3,4]]\n"
            "[[[1,4],[2,null],[3,8]],[[1,4],[2,null],[3,6.666666666666667]]]\n"
            "[true,true,false,false]\n");
}

// The labels of the axes, from the y axis to the x axis, and the path of the curve.
TEST_F(PageFunctions, AChartHasItsTicksAndItsPath) {
  EXPECT_EQ(output_of_node(std::string(report::kChartScript) + R"js(
const nodes = [];
const create = name => {
  const node = {name, attributes: {}, setAttribute(key, value) { this.attributes[key] = value; }, append() {},
    replaceChildren() {}, querySelector: () => create("svg"), style: {}};
  nodes.push(node);
  return node;
};
globalThis.document = {createElementNS: (space, name) => create(name), createElement: create};
const draw = (points, width, log) => {
  nodes.length = 0;
  drawChart({...create("figure"), clientWidth: width}, [{name: "f1", colour: "red", points}], {axis: "steps", smoothing: 0, log});
  console.log(nodes.filter(n => n.name === "text").map(n => n.textContent).join(" "));
  console.log(nodes.filter(n => n.name === "path").map(n => n.attributes.d).join(" "));
};
draw([[0, 0], [12, 8]], 262, false);
draw([[0, 5], [10, 8]], 400, false);
draw([[0, 3], [5, null], [10, 8]], 400, false);
draw([[0, 1], [5, 0], [10, 100]], 400, true);
draw([[0, 2], [0, 2]], 0, false);
draw([[0, null]], 400, false);
)js"),
            "0 2 4 6 8 0 10\nM52.0,206.0L252.0,8.0\n"
            "5 6 7 8 0 5 10\nM52.0,206.0L390.0,8.0\n"
            "0 2 4 6 8 0 5 10\nM52.0,131.8M390.0,8.0\n"
            "1 2 5 10 20 50 100 0 5 10\nM52.0,206.0M390.0,8.0\n"
            "1.8 2 2.2 -0.5 0 0.5\nM221.0,107.0L221.0,107.0\n"
            "no values\n\n");
}

TEST_F(PageFunctions, ASettingDiffersIfTheRunsHaveSeveralValues) {
  const std::string_view page = report::kPageScript;
  const std::size_t begin = page.find("const differs"), end = page.find("const settingsTable");
  ASSERT_LT(begin, end);
  ASSERT_NE(end, page.npos);
  EXPECT_EQ(output_of_node("const runs = [{settings: {a: 1, b: 1}}, {settings: {a: 1, b: 2, c: 3}}];\n" +
                           std::string(page.substr(begin, end - begin)) +
                           "console.log([\"a\", \"b\", \"c\", \"d\"].map(differs).join());\n"),
            "false,true,true,false\n");
}

}  // namespace
}  // namespace regard::testing
