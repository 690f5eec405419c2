// Reports of training runs: the values read from a run folder, and the content of the page.
#include <gtest/gtest.h>

#include <cmath>

#include "node_script.h"
#include "report/page_parts.h"
#include "report/report.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using report::read_history;
using report::report_data;

constexpr const char* kLog =
    R"({"step":0,"run":{"version":"1","isa":"avx2","threads":2,"resumed":false},"time":"t"}
{"step":5,"loss":2.5,"learning_rate":0.1,"gradient_norm":1.5,"tokens_per_s":100,"epochs":0.5,"trained_seconds":3,"time":"t"}
{"step":10,"loss":null,"learning_rate":0.1,"gradient_norm":1.0,"tokens_per_s":110,"epochs":1,"trained_seconds":6,"time":"t"}
{"step":10,"validation":{"loss":2.0,"bleu":12.5,"bleu_signature":"s","confusion":{"labels":["a","b"],"counts":[[1,2],[0,3]]}},"best":true,"validation_seconds":1,"samples":[{"source":"</script><b>","reference":"","output":"x"}],"time":"t"}
{"step":10,"run":{"version":"1","isa":"avx2","threads":2,"resumed":true},"changes":{"training.learning_rate":["0.1","0.2"]},"time":"t"}
{"step":15,"validation":{"loss":2.5,"bleu":11},"best":false,"validation_seconds":1,"time":"t"}
{"step":15,"validation":{"loss":1.5},"best":false,"averaged":true,"validation_seconds":1,"time":"t"}
)";

TEST(Report, ReadsTheCurvesSamplesAndSettingsOfARun) {
  const TemporaryFolder folder;
  write_file(folder.path() / "one", "log.jsonl", kLog);
  write_file(folder.path() / "one", "run.toml",
             "task = \"translation\"\n[training]\nlearning_rate = 0.2\nbetas = [0.9, 0.98]\n");
  const report::RunHistory run = read_history(folder.path() / "one");
  ASSERT_EQ(run.curves.at("loss").size(), 2u);
  EXPECT_EQ(run.curves.at("loss")[0].step, 5);
  EXPECT_EQ(run.curves.at("loss")[0].value, 2.5);
  EXPECT_TRUE(std::isnan(run.curves.at("loss")[1].value));
  ASSERT_EQ(run.curves.at("validation.bleu").size(), 2u);
  EXPECT_EQ(run.curves.at("validation.bleu")[1].value, 11);
  EXPECT_EQ(run.curves.at("validation.loss").size(), 2u) << "the final average is no point of the curve";
  EXPECT_EQ(run.average["loss"], 1.5);
  EXPECT_EQ(run.best_step, 10);
  EXPECT_EQ(run.confusion["counts"][0][1], 2);
  ASSERT_EQ(run.progress.size(), 2u);
  EXPECT_EQ(run.progress[1].seconds, 6);
  ASSERT_EQ(run.starts.size(), 2u);
  EXPECT_EQ(run.starts[1]["changes"]["training.learning_rate"][1], "0.2");
  const auto& settings = run.settings;
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_EQ(settings[0].first, "task");
  EXPECT_EQ(settings[1], (std::pair<std::string, std::string>{"training.betas", "[0.9, 0.98]"}));
}

TEST(Report, ALineWhoseRunIsNotAnObjectIsRefused) {
  const TemporaryFolder folder;
  write_file(folder.path() / "one", "log.jsonl", "{\"step\":0,\"run\":{}}\n{\"step\":1,\"run\":\"x\"}\n");
  EXPECT_REGARD_ERROR(read_history(folder.path() / "one"), ErrorKind::bad_file,
                      "log.jsonl:2: invalid line of a training log");
}

TEST(Report, ThePageHoldsTheDataAndNoTagOfASample) {
  const TemporaryFolder folder;
  write_file(folder.path() / "one", "log.jsonl", kLog);
  const std::vector<report::RunHistory> runs = {read_history(folder.path() / "one")};
  const Json data = report_data(runs);
  EXPECT_EQ(data["runs"][0]["name"], "one");
  EXPECT_EQ(data["runs"][0]["curves"]["loss"], Json::parse("[[5,2.5],[10,null]]"));
  EXPECT_EQ(data["reduced"], false);
  const std::string page = report::report_page(data);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos);
  const std::string opening = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(opening) + opening.size();
  EXPECT_EQ(Json::parse(page.substr(begin, page.find("</script>", begin) - begin)), data);
  for (const char* external : {"http://", "https://", "src=", "@import"})
    EXPECT_EQ(page.find(external) == std::string::npos ||
                  page.find("http://www.w3.org/2000/svg") == page.find(external),
              true)
        << external;
}

TEST(Report, LongCurvesKeepTheirPeaks) {
  report::RunHistory run{.folder = "r"};
  for (std::int64_t step = 0; step < 100000; ++step)
    run.curves["loss"].push_back({.step = step, .value = 1.0});
  run.curves["loss"][77777].value = 9.0;
  run.curves["loss"][33333].value = -4.0;
  run.curves["loss"][5].value = std::nan("");
  const Json data = report_data(std::span(&run, 1));
  const Json& curve = data["runs"][0]["curves"]["loss"];
  EXPECT_EQ(data["reduced"], true);
  EXPECT_LE(curve.size(), report::kMaxPoints);
  bool high = false, low = false;
  std::int64_t last = -1;
  for (const Json& point : curve) {
    EXPECT_GE(point[0].get<std::int64_t>(), last);
    last = point[0].get<std::int64_t>();
    high = high || point == Json::array({77777, 9.0});
    low = low || point == Json::array({33333, -4.0});
  }
  EXPECT_TRUE(high);
  EXPECT_TRUE(low);
}

// A chart is drawn even if no tick lies between its values, because they differ in the last bit only. Node.js
// runs the script with a stub of the document that counts the drawn paths.
TEST(Report, AChartOfNearlyEqualValuesIsDrawn) {
  if (!has_node()) GTEST_SKIP() << "Node.js is not installed";
  const std::string script = std::string(report::kChartScript) + R"js(
const nodes = [];
const create = name => {
  const node = {name, setAttribute() {}, append() {}, replaceChildren() {}, querySelector: () => create("svg"), style: {}};
  nodes.push(node);
  return node;
};
globalThis.document = {createElementNS: (space, name) => create(name), createElement: create};
for (const points of [[[1, 0.6666666666666666], [2, 0.6666666666666667]], [[1, 2.3], [2, 2.3000000000000003]], [[1, 0], [2, 0]]])
  for (const log of [false, true])
    drawChart(create("figure"), [{name: "f1", colour: "red", points}], {axis: "steps", smoothing: 0, log});
console.log(nodes.filter(node => node.name === "path").length);
)js";
  EXPECT_EQ(output_of_node(script), "5\n");  // zeros have no logarithm, so they give no path
}

// Node.js runs two functions of the page: the nearest point of a curve, and the interpolated position of a
// step.
TEST(Report, PositionsAreInterpolatedAndTheNearestPointIsFound) {
  if (!has_node()) GTEST_SKIP() << "Node.js is not installed";
  const std::string_view page = report::kPageScript;
  const std::size_t begin = page.find("const axisValue"), end = page.find("const onAxis");
  ASSERT_LT(begin, end);
  ASSERT_NE(end, page.npos);
  const std::string script =
      std::string(report::kChartScript) + std::string(page.substr(begin, end - begin)) + R"js(
const print = values => console.log(JSON.stringify(values));
const points = [[1, "a"], [3, "b"], [7, "c"]];
print([0, 1, 1.9, 2, 2.1, 4.9, 5, 5.1, 7, 9].map(x => nearest(points, x)[1]).join(""));
print([0, 1, 2].map(x => nearest([[1, "a"]], x)[1]).join(""));
const run = {progress: [[10, 1, 3600], [20, 3, 10800], [20, 4, 14400]]};
print([0, 5, 10, 15, 20, 30].map(step => axisValue(run, step, "epochs")));
print([0, 5, 10, 15, 20, 30].map(step => axisValue(run, step, "hours")));
print([axisValue(run, 15, "steps"), axisValue({progress: []}, 15, "epochs"), axisValue({progress: [[0, 2, 0]]}, 0, "epochs")]);
)js";
  EXPECT_EQ(output_of_node(script),
            "\"aaabbbcccc\"\n\"aaa\"\n[0,0.5,1,2,3,4]\n[0,0.5,1,2,3,4]\n[15,null,2]\n");
}

TEST(Report, RunsWithTheSameNameAreToldApartByTheirPath) {
  const std::vector<report::RunHistory> runs = {
      {.folder = "a/run"}, {.folder = "b/run/"}, {.folder = "c/other"}};
  const Json data = report_data(runs);
  EXPECT_EQ(data["runs"][0]["name"], "a/run");
  EXPECT_EQ(data["runs"][1]["name"], "b/run/");
  EXPECT_EQ(data["runs"][2]["name"], "other");
}

TEST(Report, AnUnfinishedLastLineIsIgnoredAndAnyOtherBadLineIsNamed) {
  const TemporaryFolder folder;
  write_file(folder.path() / "one", "log.jsonl", "{\"step\":1,\"loss\":2}\n{\"step\":2,\"lo");
  EXPECT_EQ(read_history(folder.path() / "one").curves.at("loss").size(), 1u);
  for (const char* bad : {"{\"step\":2,\"lo", "[]", "{\"loss\":1}", "{\"step\":1.5}", ""}) {
    write_file(folder.path() / "one", "log.jsonl", std::string("{\"step\":1}\n") + bad + "\n");
    try {
      read_history(folder.path() / "one");
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_EQ(error.place().line, 2) << error.what();
    }
  }
}

TEST(Report, TheProgramWritesThePageIntoTheRunOrToAFile) {
  const TemporaryFolder folder;
  write_file(folder.path() / "one", "log.jsonl", kLog);
  write_file(folder.path() / "two", "log.jsonl", kLog);
  EXPECT_EQ(run_program({"report", "one"}, folder.path()).exit_code, 0);
  EXPECT_NE(file_content(folder.path() / "one/report.html").find("Training report"), std::string::npos);
  const ProgramResult both = run_program({"report", "one", "two"}, folder.path());
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("-o report.html"), std::string::npos) << both.err;
  EXPECT_EQ(run_program({"report", "one", "two", "-o", "both.html"}, folder.path()).exit_code, 0);
  EXPECT_NE(file_content(folder.path() / "both.html").find("\"name\":\"two\""), std::string::npos);
  const ProgramResult json = run_program({"report", "--json", "one"}, folder.path());
  EXPECT_EQ(Json::parse(json.out)["runs"][0]["best_step"], 10);
  const ProgramResult none = run_program({"report", "nowhere"}, folder.path());
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("log.jsonl"), std::string::npos) << none.err;
}

TEST(Report, OfSeveralFoldersThoseWithoutALogAreOmitted) {
  const TemporaryFolder folder;
  write_file(folder.path() / "one", "log.jsonl", kLog);
  write_file(folder.path() / "cache", "features", "");
  const ProgramResult some = run_program({"report", "cache", "one", "--json"}, folder.path());
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_EQ(Json::parse(some.out)["runs"].size(), 1U);
  EXPECT_NE(some.err.find("cache is omitted"), std::string::npos) << some.err;
  EXPECT_EQ(run_program({"report", "cache", "--json"}, folder.path()).exit_code, 2);
  EXPECT_EQ(run_program({"report", "cache", "cache", "--json"}, folder.path()).exit_code, 2);
  EXPECT_EQ(run_program({"report", "one", "nowhere", "--json"}, folder.path()).exit_code, 2);
}

}  // namespace
}  // namespace regard::testing
