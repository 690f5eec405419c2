// The complete responses of LibreTranslate's routes, with several models, and of the lists of models.
#include "regard/regard.h"
#include "support/checkpoints.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

serve::ServeOptions two_translators() {
  serve::ServeOptions options = serve_options();
  options.folders.push_back({"back", TestServer::folder("translator")});
  options.languages["back"] = {{"hi", "en"}, {"en", "xx"}};
  return options;
}

TestServer& translating_server() {
  static TestServer only(two_translators(), {"translator"});
  return only;
}

TestServer& detecting_server() {
  static TestServer only(
      [] {
        serve::ServeOptions options = two_translators();
        options.detect = TestServer::folder("nli");
        return options;
      }(),
      {"translator"});
  return only;
}

std::string refused(TestServer& server, const std::string& path, const Json& body) {
  const Reply reply = server.post(path, body);
  EXPECT_EQ(reply.status, 400) << reply.body;
  return reply.json().value("error", "");
}

Json translate(Json body) {
  body["source"] = "en", body["target"] = "hi";
  const Reply reply = translating_server().post("/translate", body);
  EXPECT_EQ(reply.status, 200) << reply.body;
  return reply.json();
}

TEST(TranslationRoutes, ListTheLanguagesOfAllModels) {
  EXPECT_EQ(translating_server().get("/languages").json(), Json::parse(R"([
    {"code": "en", "name": "English", "targets": ["en", "xx", "hi"]},
    {"code": "hi", "name": "Hindi", "targets": ["en", "xx"]},
    {"code": "xx", "name": "xx", "targets": []}])"));
  const Json settings = Json::parse(R"({
    "apiKeys": false, "charLimit": -1, "frontendTimeout": 500, "keyRequired": false,
    "language": {"source": {"code": "en", "name": "English"}, "target": {"code": "hi", "name": "Hindi"}},
    "suggestions": false, "supportedFilesFormat": [".txt", ".html"], "filesTranslation": true})");
  serve::ServeOptions options = serve_options();
  TestServer one(options, {"translator"});
  EXPECT_EQ(one.get("/frontend/settings").json(), settings);
  options.languages.clear();
  TestServer unknown(options, {"translator"});
  EXPECT_EQ(unknown.get("/frontend/settings").json()["language"], Json::object());
  EXPECT_EQ(refused(unknown, "/translate", {{"q", "a"}, {"source", "en"}, {"target", "hi"}}),
            "the languages of the models are not known; start the server with --languages "
            "NAME=SOURCES:TARGETS");
  TestServer none(options, {"gpt"});
  EXPECT_EQ(none.get("/frontend/settings").json()["language"], Json::object());
  EXPECT_EQ(refused(none, "/translate", {{"q", "a"}, {"source", "en"}, {"target", "hi"}}),
            "no model of this server can translate");
}

TEST(TranslationRoutes, WrongLanguagesAreNamed) {
  EXPECT_EQ(refused(translating_server(), "/translate", {{"q", "a"}, {"source", "fr"}, {"target", "hi"}}),
            "expected languages of a model (hi-en, hi-xx, en-en, en-xx, en-hi), found fr-hi");
  EXPECT_EQ(refused(translating_server(), "/translate", {{"q", "a"}, {"source", "auto"}, {"target", "hi"}}),
            "expected a source language: \"auto\" needs --detect, or models with one source language");
}

TEST(TranslationRoutes, AlternativesAreTheHypothesesOfTheLibrary) {
  const Model model = load(TestServer::folder("translator"));
  const auto dog = model.write("the dog", {.n_best = 3}), fox = model.write("a fox", {.n_best = 3});
  const auto others = [](const std::vector<Written>& all) { return Json{all[1].text, all[2].text}; };
  EXPECT_EQ(translate({{"q", "the dog"}, {"alternatives", 2}}),
            (Json{{"translatedText", dog[0].text}, {"alternatives", others(dog)}}));
  EXPECT_EQ(translate({{"q", {"the dog", " ", "a fox"}}, {"alternatives", 2}}),
            (Json{{"translatedText", {dog[0].text, " ", fox[0].text}},
                  {"alternatives", Json::array({others(dog), {" ", " "}, others(fox)})}}));
  EXPECT_EQ(translate({{"q", Json::array({"the dog"})}}),
            (Json{{"translatedText", Json::array({model.translate("the dog")})}}));
}

TEST(TranslationRoutes, KeepTheSpaceBetweenSentences) {
  const Model model = load(TestServer::folder("translator"));
  const std::string dog = model.translate("A dog."), fox = model.translate("The fox.");
  EXPECT_EQ(translate({{"q", " \n A dog.  The fox.\n"}})["translatedText"], " \n " + dog + "  " + fox + "\n");
  const std::string escaped = [&] {
    std::string text;
    for (const char letter : dog) text += letter == '<' ? "&lt;" : std::string(1, letter);
    return text;
  }();
  EXPECT_EQ(translate({{"q", {"<p>A dog.</p>", "<b> </b>"}}, {"format", "html"}})["translatedText"],
            (Json{"<p>" + escaped + "</p>", "<b> </b>"}));
}

TEST(TranslationRoutes, DetectedLanguagesSelectTheModel) {
  const auto labels = Classifier(load(TestServer::folder("nli")), {.truncate = true}).classify("the dog");
  Json expected = Json::array();
  for (const Label& one : labels)
    expected.push_back({{"confidence", one.score * 100.0f}, {"language", one.name}});
  EXPECT_EQ(detecting_server().post("/detect", {{"q", "the dog"}}).json(), expected);
  EXPECT_EQ(detecting_server().post("/detect", {{"q", repeated("dog ", 600)}}).status, 200) << "truncated";
  EXPECT_EQ(
      refused(detecting_server(), "/translate", {{"q", "the dog"}, {"source", "auto"}, {"target", "hi"}}),
      "expected languages of a model (hi-en, hi-xx, en-en, en-xx, en-hi), found " + labels[0].name + "-hi");
  // The detector's labels are the source languages of these models.
  serve::ServeOptions options = serve_options();
  options.detect = TestServer::folder("nli");
  options.languages["translator"] = {{labels[0].name, labels[1].name, labels[2].name}, {"hi"}};
  TestServer server(options, {"translator"});
  const Json reply =
      server.post("/translate", {{"q", {"the dog", "a fox"}}, {"source", "auto"}, {"target", "hi"}}).json();
  const Model model = load(TestServer::folder("translator"));
  EXPECT_EQ(reply["translatedText"], (Json{model.translate("the dog"), model.translate("a fox")}));
  EXPECT_EQ(reply["detectedLanguage"][0], expected[0]);
  EXPECT_EQ(reply["detectedLanguage"].size(), 2u);
}

TEST(TranslationRoutes, FilesAreStored) {
  const auto form = [](const std::string& name, const std::string& content, const std::string& source) {
    const std::string head = "--x\r\nContent-Disposition: form-data; name=\"";
    return head + "file\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n" + head + "source\"\r\n\r\n" +
           source + "\r\n" + head + "target\"\r\n\r\nhi\r\n--x--\r\n";
  };
  TestServer one(serve_options(), {"translator"});
  const auto post = [&](const std::string& body) {
    return one.post_form("/translate_file", body, "multipart/form-data; boundary=x");
  };
  const std::string dog = load(TestServer::folder("translator")).translate("the dog");
  for (const auto& [name, begin, end] :
       {std::tuple("a.txt", "", ""), {"a.html", "<p>", "</p>"}, {"a.htm", "<p>", "</p>"}}) {
    const Reply reply = post(form(name, std::string(begin) + "the dog" + end, "auto"));
    ASSERT_EQ(reply.status, 200) << reply.body;
    const auto url = reply.json()["translatedFileUrl"].get<std::string>();
    const std::string host = "http://localhost/download_file/";
    EXPECT_TRUE(url.starts_with(host)) << url;
    EXPECT_TRUE(url.ends_with(std::string(name).substr(1))) << url;
    const Reply file = one.get(url.substr(std::string("http://localhost").size()));
    EXPECT_EQ(file.body, begin + dog + end);
    EXPECT_EQ(file.fields.at("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(file.fields.at("content-disposition"), "attachment");
  }
  EXPECT_EQ(post(form("a.txt", "\xff", "en")).json()["error"], "expected a text file in UTF-8");
  EXPECT_EQ(post(form("", "text", "en")).json()["error"], "expected one file, found 0");
  EXPECT_EQ(one.get("/download_file/x").json(),
            (Json{{"error", "the file does not exist or has expired"}, {"kind", "usage"}}));
}

TEST(ModelLists, HaveAllMembers) {
  const Json expected = Json::parse(R"({"name": "translator", "kind": "encoder-decoder",
    "family": "regard-transformer", "abilities": ["generate", "translate", "attend"], "positions": 0,
    "languages": {"sources": ["en"], "targets": ["hi"]}, "heads": {}})");
  Json found = translating_server().get("/models").json();
  ASSERT_EQ(found["models"].size(), 2u);
  Json first = found["models"][1];
  for (const char* kind : {"encoder", "decoder", "cross"})
    for (const Json& heads : first["heads"].at(kind)) EXPECT_GT(heads.get<int>(), 0);
  EXPECT_EQ(first["heads"].size(), 3u);
  first["heads"] = Json::object();
  EXPECT_EQ(first, expected) << first;
  serve::ServeOptions options = serve_options();
  options.chat_template = "";
  TestServer others(options, {"gpt", "nli", "embed", "whisper", "clip"});
  std::map<std::string, Json> models;
  const Json list = others.get("/models").json()["models"];
  for (const Json& one : list) models[one["name"]] = one;
  EXPECT_EQ(models["gpt"]["abilities"], (Json{"generate", "attend"})) << "it has no chat template";
  EXPECT_EQ(models["gpt"]["positions"], 256);
  EXPECT_FALSE(models["gpt"].contains("labels") || models["gpt"].contains("dimensions"));
  EXPECT_EQ(models["nli"]["abilities"], (Json{"classify", "attend"}));
  EXPECT_EQ(models["nli"]["kind"], "encoder");
  EXPECT_EQ(models["nli"]["family"], "bert");
  EXPECT_EQ(models["embed"]["abilities"], (Json{"embed", "attend"}));
  EXPECT_EQ(models["embed"]["dimensions"], Embedder(TestServer::folder("embed")).size());
  EXPECT_EQ(models["whisper"]["abilities"], (Json{"attend_sound", "transcribe"}));
  EXPECT_EQ(models["clip"]["abilities"], (Json{"embed", "classify_picture", "attend"}));
  EXPECT_EQ(others.get("/models/whisper").json()["points"], Json::object());
  const Json openai = others.get("/v1/models/gpt").json();
  EXPECT_NEAR(openai["created"].get<double>(), static_cast<double>(std::time(nullptr)), 1000.0);
  EXPECT_EQ(
      openai,
      (Json{{"id", "gpt"}, {"object", "model"}, {"created", openai["created"]}, {"owned_by", "regard"}}));
  EXPECT_EQ(others.get("/v1/models").json()["data"][0], openai);
  EXPECT_EQ(refused(others, "/translate", {{"q", "a"}, {"source", "en"}, {"target", "hi"}}),
            "no model of this server can translate");
  EXPECT_EQ(others.post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "a"}}}}})
                .json()["error"]["message"],
            "no model of this server can answer in a conversation");
  EXPECT_EQ(others.post("/rerank", {{"model", "nli"}, {"query", "a"}, {"texts", {"a"}}}).json(),
            (Json{{"error", "the model \"nli\" cannot rank texts"}, {"error_type", "validation"}}));
}

// Each of these members of tokenizer_config.json enables conversations.
TEST(ModelLists, AChatTemplateOfTheFolderEnablesConversations) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.chat_template = "";
  const std::string shown = "{{ messages[0]['content'] }}";
  const std::pair<const char*, Json> templates[] = {
      {"one", shown}, {"named", Json::array({{{"name", "default"}, {"template", shown}}})}};
  for (const auto& [name, chat_template] : templates) {
    std::filesystem::copy(TestServer::folder("gpt"), folder / name);
    write_file(folder / name, "tokenizer_config.json", Json{{"chat_template", chat_template}}.dump());
    options.folders.push_back({name, folder / name});
  }
  TestServer server(options, {"gpt"});
  for (const auto& [name, chat_template] : templates) {
    EXPECT_EQ(server.get(std::string("/models/") + name).json()["abilities"],
              (Json{"generate", "chat", "attend"}));
    const Json asked{{"model", name},
                     {"messages", {{{"role", "user"}, {"content", "the quick"}}}},
                     {"max_tokens", 5},
                     {"temperature", 0}};
    EXPECT_EQ(server.post("/v1/chat/completions", asked).json()["choices"][0]["message"]["content"],
              load(TestServer::folder("gpt")).write("the quick", {.beam = 1, .max_new = 5}).at(0).text);
  }
}

// The chat template of a run is in its checkpoints.
TEST(ModelLists, AChatTemplateOfARunEnablesConversations) {
  const TemporaryFolder folder;
  std::filesystem::copy(TestServer::folder("gpt"), folder / "model");
  write_file(folder / "model", "tokenizer_config.json",
             R"({"chat_template": "{{ messages[0]['content'] }}"})");
  const auto run = formats::RunFolder::create(folder / "run", "");
  add_checkpoint(run, 1, folder / "model");
  serve::ServeOptions options = serve_options();
  options.chat_template = "";
  options.folders.push_back({"run", run.path()});
  TestServer server(options, {"gpt"});
  EXPECT_EQ(server.get("/models/run").json()["abilities"], (Json{"generate", "chat", "attend"}));
}

}  // namespace
}  // namespace regard::testing
