// POST /study returns the tables of the library. The body contains the content of the data files.
#include <fstream>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& study_server() {
  static TestServer only(serve_options(), {"gpt", "translator"});
  return only;
}

class StudyRoute : public ::testing::Test {
 protected:
  std::string file(const char* name, const std::string& content) const {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }
  // Expect that the server's table equals the library's table.
  void expect_equal(const std::string& model, const std::string& view, const StudyOptions& options,
                    Json body) {
    const Study study = regard::study(load(TestServer::folder(model)), view, options);
    body["model"] = model, body["view"] = view;
    const Reply reply = study_server().post("/study", body);
    ASSERT_EQ(reply.status, 200) << view << reply.body;
    Json expected = Json::parse(format(study, "json"));
    expected["model"] = model;
    EXPECT_EQ(reply.json(), expected) << view;
  }
  void expect_refused(const Json& body, const std::string& part) {
    const Reply reply = study_server().post("/study", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_NE(reply.body.find(part), std::string::npos) << reply.body;
    EXPECT_EQ(reply.body.find("/proc"), std::string::npos) << reply.body;
  }

  TemporaryFolder folder_;
  const std::string texts_ = "a dog\nthe dog\n\nthe river\n";
  const std::string pairs_ = "a dog\tthe dog\nthe river\ta dog\n";
};

TEST_F(StudyRoute, TakesTheContentOfFiles) {
  StudyOptions options;
  options.data = file("texts.txt", texts_);
  for (const char* view : {"heads", "sets", "kinds"}) expect_equal("gpt", view, options, {{"data", texts_}});
  options.examples = 2;
  expect_equal("gpt", "heads", options, {{"data", texts_}, {"examples", 2}});
  StudyOptions labeled;
  std::string lines;
  for (int i = 0; i < 12; ++i) lines += i % 2 == 0 ? "a dog\tyes\n" : "the river\tno\n";
  labeled.data = file("labels.tsv", lines);
  expect_equal("gpt", "probe", labeled, {{"data", lines}});
  StudyOptions aligned;
  const std::string links = "0-0 1-1\n0-0 1p1\n";
  aligned.data = file("pairs.tsv", pairs_), aligned.alignments = file("links", links);
  expect_equal("translator", "alignment", aligned, {{"data", pairs_}, {"alignments", links}});
}

TEST_F(StudyRoute, GradientsTakeInterventions) {
  StudyOptions options;
  options.text = "the dog", options.answer = "dog", options.steps = 4;
  options.interventions = {"uniform decoder.0.0"};
  const Json body{
      {"text", "the dog"}, {"answer", "dog"}, {"steps", 4}, {"interventions", options.interventions}};
  expect_equal("gpt", "tokens", options, body);
}

TEST_F(StudyRoute, TakesEveryMember) {
  const auto of_text = [](const char* text) {
    StudyOptions options;
    options.text = text;
    return options;
  };
  StudyOptions path = of_text("the dog");
  path.target = "a fox", path.other = "the fig", path.other_target = "a fog", path.answer = "x";
  path.instead = "o", path.position = 1;
  for (const char* view : {"patch", "path"})
    expect_equal("translator", view, path,
                 {{"text", "the dog"},
                  {"target", "a fox"},
                  {"other", "the fig"},
                  {"other_target", "a fog"},
                  {"answer", "x"},
                  {"instead", "o"},
                  {"position", 1}});
  StudyOptions flip = of_text("the fox");
  flip.answer = "a", flip.instead = "b", flip.most = 2;
  expect_equal("gpt", "flip", flip, {{"text", "the fox"}, {"answer", "a"}, {"instead", "b"}, {"most", 2}});
  StudyOptions heads = of_text("the fox");
  heads.answer = "fox", heads.off = {{regard::Kind::decoder, 0, 1}}, heads.most = 2;
  expect_equal("gpt", "sets", heads,
               {{"text", "the fox"}, {"answer", "fox"}, {"off", "decoder.0.1"}, {"most", 2}});
  StudyOptions induction;
  induction.length = 5, induction.sequences = 3, induction.seed = 7;
  expect_equal("gpt", "induction", induction, {{"length", 5}, {"sequences", 3}, {"seed", 7}});
  StudyOptions position = of_text("the fox");
  position.position = 2;
  for (const char* view : {"lens", "rollout", "flow"})
    expect_equal("gpt", view, position, {{"text", "the fox"}, {"position", 2}});
  flip.most = 3;
  expect_equal("gpt", "direct", flip, {{"text", "the fox"}, {"answer", "a"}, {"instead", "b"}});
}

TEST_F(StudyRoute, RefusesByTheNamesOfTheMembers) {
  const auto body = [](const char* view, Json more) {
    more["model"] = more.contains("alignments") ? "translator" : "gpt", more["view"] = view;
    return more;
  };
  expect_refused(body("probe", Json::object()), "needs \\\"data\\\"");
  expect_refused(body("probe", {{"data", "a dog\n"}, {"steps", 3}}), "\\\"steps\\\" does not apply");
  expect_refused(body("heads", {{"data", "a dog\n"}, {"text", "a dog"}}),
                 "cannot be combined with \\\"data\\\"");
  expect_refused(body("probe", {{"data", "a dog\n"}}), "data:1");
  expect_refused(body("alignment", {{"data", pairs_}, {"alignments", "0-0\n0-9\n"}}), "alignments:2");
  expect_refused(body("heads", {{"data", repeated("dog ", 600)}}), "tokens in a line");
  expect_refused(body("heads", {{"data", repeated("a\n", 5000)}}), "at most 4096 lines");
  expect_refused(body("lens", {{"text", "a dog"}, {"interventions", {"zero decoder.output"}}}),
                 "decoder.output");
}

}  // namespace
}  // namespace regard::testing
