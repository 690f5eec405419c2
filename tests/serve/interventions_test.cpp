// Requests with interventions give the results of the library. Interventions that name a file are refused,
// and the file is not opened.
#include <fstream>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& edits_server() {
  static TestServer only;
  return only;
}

TEST(Interventions, AttendShowsThePassUnderThem) {
  const Model model = load(TestServer::folder("gpt"));
  AttendOptions options;
  options.interventions = {"zero decoder.0.0", "scale decoder.0.1 by=0.5 positions=1"};
  const Json expected = Json::parse(model.attend("the dog", options).json());
  Json request{
      {"model", "gpt"}, {"text", "the dog"}, {"full", true}, {"interventions", options.interventions}};
  const Reply reply = edits_server().post("/attend", request);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["attention"], expected["attention"]);
  EXPECT_EQ(reply.json()["interventions"], expected["interventions"]);
  const Json plain =
      edits_server().post("/attend", {{"model", "gpt"}, {"text", "the dog"}, {"full", true}}).json();
  EXPECT_NE(plain["attention"], expected["attention"]);
  // Send the same interventions as objects instead of strings.
  request["interventions"] = {{{"do", "zero"}, {"at", "decoder.0.0"}},
                              {{"do", "scale"}, {"at", "decoder.0.1"}, {"by", 0.5}, {"positions", {1}}}};
  EXPECT_EQ(edits_server().post("/attend", request).json()["attention"], expected["attention"]);
  // Send an intervention with values of another input.
  request["interventions"] = {"patch decoder.0.residual text=\"a river\" positions=0-2"};
  EXPECT_EQ(edits_server().post("/attend", request).status, 200);
}

TEST(Interventions, NeverOpenAFile) {
  const TemporaryFolder folder;
  std::ofstream(folder / "texts.txt") << "a dog\n";
  const std::string file = (folder / "texts.txt").string();
  const std::vector<Json> naming{"mean decoder.0.0 texts=" + file,
                                 "add decoder.0.residual vector=" + file + "#a",
                                 "replace decoder.0.0 pattern=" + file + "#a",
                                 Json{{"do", "mean"}, {"at", "decoder.0.0"}, {"texts", file}},
                                 R"({"do": "mean", "at": "decoder.0.0", "texts": ")" + file + "\"}",
                                 "mean decoder.0.0 texts=/no/such/file",
                                 "patch decoder.0.residual file=" + file,
                                 Json{{"do", "mean"}, {"at", "decoder.0.0"}, {"files", file}}};
  for (const Json& one : naming) {
    const Reply reply = edits_server().post(
        "/attend", {{"model", "gpt"}, {"text", "the dog"}, {"interventions", Json::array({one})}});
    EXPECT_EQ(reply.status, 400) << one;
    EXPECT_NE(reply.body.find("cannot name a file"), std::string::npos) << reply.body;
  }
}

TEST(Interventions, WrongOnesAre400) {
  const std::string many = "patch decoder.0.residual ids=0";
  std::string longest = many;
  for (int i = 0; i < 2000; ++i) longest += ",1";
  // every feature index makes one edit for each token, so these are too many edits
  std::string places = "zero decoder.0.residual[0";
  for (int i = 0; i < 2000; ++i) places += ",0";
  places += "]";
  for (const std::string& one :
       {std::string("zero"), std::string("zero cross.0.0"), std::string("zero decoder.99.0"),
        std::string("zero nothing"), std::string("patch decoder.0.residual ids=99999999"), longest, places,
        "zero decoder.0.0" + std::string(20000, ' '), std::string("zero decoder.0.residual[0-2147483647]")}) {
    const Reply reply = edits_server().post(
        "/attend", {{"model", "gpt"}, {"text", "the dog"}, {"interventions", Json::array({one})}});
    EXPECT_EQ(reply.status, 400) << one.substr(0, 80) << ": " << reply.body;
  }
  EXPECT_EQ(edits_server()
                .post("/attend", {{"model", "gpt"}, {"text", "a"}, {"interventions", Json::array({3})}})
                .status,
            400);
  const Json not_json{{"model", "embed"}, {"inputs", "a river"}, {"interventions", {"{bad"}}};
  EXPECT_EQ(edits_server().post("/embed", not_json).status, 400);
}

TEST(Interventions, TheResponseNamesThoseThatChangeNothing) {
  const std::pair<const char*, Json> requests[] = {
      {"/attend", {{"model", "gpt"}, {"text", "the dog"}}},
      {"/attend", {{"model", "translator"}, {"text", "the dog"}}},
      {"/generate", {{"model", "gpt"}, {"inputs", "the dog"}, {"max_new", 2}}},
      {"/v1/completions", {{"model", "gpt"}, {"prompt", "the dog"}, {"max_tokens", 2}}},
      {"/study", {{"model", "gpt"}, {"view", "tokens"}, {"text", "the dog"}, {"answer", "d"}, {"steps", 2}}},
      {"/translate", {{"q", "the dog"}, {"source", "en"}, {"target", "hi"}}},
      {"/vectors", {{"model", "embed"}, {"inputs", {"the dog"}}}},
      {"/v1/embeddings", {{"model", "embed"}, {"input", "the dog"}}},
      {"/classify", {{"model", "nli"}, {"inputs", {"the dog"}}}},
      {"/tag", {{"model", "ner"}, {"text", "the dog"}}},
      {"/answer", {{"model", "qa"}, {"question", "the"}, {"context", "the dog"}}},
      {"/fill", {{"model", "fill"}, {"text", "the <mask>"}}}};
  const Json document = edits_server().get("/openapi.json").json();
  for (const auto& [path, body] : requests) {
    const bool decoder = body.value("model", "") == "gpt";
    const std::string place =
        std::string("scale ") + (decoder ? "decoder" : "encoder") + ".0.0 by=0.5 positions=";
    Json request = body;
    request["interventions"] = {place + "0", place + "200"};
    const Reply reply = edits_server().post(path, request);
    ASSERT_EQ(reply.status, 200) << path << reply.body;
    ASSERT_TRUE(reply.json().contains("warnings")) << path << reply.body;
    EXPECT_EQ(
        reply.json()["warnings"],
        Json::array({{{"intervention", place + "200"},
                      {"reason", "positions"},
                      {"message",
                       "'" + place + "200' changed nothing: no input has tokens at the given positions"}}}))
        << path;
    request["interventions"] = {place + "0"};
    EXPECT_FALSE(edits_server().post(path, request).json().contains("warnings")) << path;
    const Json& schema =
        document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"];
    EXPECT_TRUE(schema["properties"].contains("warnings")) << path << schema;
  }
  // An intervention that cannot apply is refused, even if there is no input.
  const Json none{{"model", "embed"}, {"inputs", Json::array()}, {"interventions", {"zero encoder.99.0"}}};
  EXPECT_EQ(edits_server().post("/vectors", none).status, 400);
}

// One request returns the pass over given tokens and the text that is generated without them. The web page
// compares this pass with an earlier pass over the same tokens.
TEST(Interventions, OneRequestHasThePassOverGivenTokensAndTheFreeText) {
  const Json asked{{"model", "gpt"}, {"text", "the dog"}, {"generate", 6}};
  const Json before = edits_server().post("/attend", asked).json();
  const auto prompt = before["prompt_tokens"].get<std::int64_t>();
  const Json& ids = before["tokens"]["target"]["ids"];
  ASSERT_LT(prompt, std::ssize(ids));
  Json request = asked;
  request["written"] = Json(std::vector<Json>(ids.begin() + prompt, ids.end()));
  request["ablate"] = "decoder.0.0", request["free"] = true;
  const Json both = edits_server().post("/attend", request).json();
  EXPECT_EQ(both["tokens"]["target"], before["tokens"]["target"]);
  EXPECT_EQ(both["prompt_tokens"], prompt);
  Json alone = asked;
  alone["ablate"] = "decoder.0.0";
  EXPECT_EQ(both["translation_generated"], edits_server().post("/attend", alone).json()["translation"]);
  request.erase("generate");  // "free" needs "generate"
  EXPECT_EQ(edits_server().post("/attend", request).status, 400);
}

TEST(Models, AreListedWithWhatTheyCanDo) {
  const Json models = edits_server().get("/models").json()["models"];
  ASSERT_EQ(models.size(), 7u);
  std::map<std::string, Json> by_name;
  for (const Json& one : models) by_name[one["name"]] = one;
  EXPECT_EQ(by_name["gpt"]["kind"], "decoder");
  EXPECT_EQ(by_name["translator"]["kind"], "encoder-decoder");
  EXPECT_EQ(by_name["translator"]["languages"]["targets"][0], "hi");
  const auto can = [&](const char* model, const char* what) {
    const Json& list = by_name[model]["abilities"];
    return std::find(list.begin(), list.end(), what) != list.end();
  };
  EXPECT_TRUE(can("gpt", "generate") && can("gpt", "chat") && can("gpt", "attend"));
  EXPECT_TRUE(can("translator", "translate") && !can("translator", "chat"));
  EXPECT_TRUE(can("nli", "classify") && can("ner", "tag") && can("qa", "answer") && can("fill", "fill"));
  EXPECT_EQ(by_name["nli"]["labels"].size(), 3u);
  EXPECT_FALSE(by_name["gpt"]["heads"]["decoder"].empty());
  EXPECT_GT(edits_server().get("/models/gpt").json()["points"]["decoder.0.residual"], 0);
  EXPECT_EQ(edits_server().get("/models/none").status, 404);
}

}  // namespace
}  // namespace regard::testing
