// The responses of each protocol equal the results of the library.
#include <cstring>
#include <set>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/test_server.h"
#include "text/base64.h"

namespace regard::testing {
namespace {

TestServer& server() {
  static TestServer only;
  return only;
}

std::string written(const std::string& model, const std::string& text, DecodingOptions options) {
  return load(TestServer::folder(model)).write(text, options).at(0).text;
}

TEST(OpenAi, CompletionsAreTheLibrarysTexts) {
  Reply reply = server().post(
      "/v1/completions", {{"model", "gpt"}, {"prompt", "the quick"}, {"max_tokens", 12}, {"temperature", 0}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  Json json = reply.json();
  EXPECT_EQ(json["object"], "text_completion");
  EXPECT_EQ(json["model"], "gpt");
  EXPECT_EQ(json["choices"][0]["text"], written("gpt", "the quick", {.beam = 1, .max_new = 12}));
  EXPECT_EQ(json["usage"]["completion_tokens"], 12);
  EXPECT_EQ(json["choices"][0]["finish_reason"], "length");
  reply = server().post("/v1/completions", {{"model", "gpt"},
                                            {"prompt", {"the quick", "lazy"}},
                                            {"max_tokens", 8},
                                            {"temperature", 0.7},
                                            {"top_p", 0.9},
                                            {"seed", 5}});
  json = reply.json();
  ASSERT_EQ(json["choices"].size(), 2u);
  const DecodingOptions sampled{.max_new = 8, .sample = true, .temperature = 0.7, .top_p = 0.9, .seed = 5};
  EXPECT_EQ(json["choices"][0]["text"], written("gpt", "the quick", sampled));
  EXPECT_EQ(json["choices"][1]["text"], written("gpt", "lazy", sampled));
}

TEST(OpenAi, EncoderDecodersAnswerCompletions) {
  const Reply reply = server().post("/v1/completions", {{"model", "translator"}, {"prompt", "the dog"}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["choices"][0]["text"], load(TestServer::folder("translator")).translate("the dog"));
}

// An id outside the vocabulary is found only when the generation starts.
TEST(OpenAi, AnErrorBeforeTheFirstEventHasItsStatus) {
  Json request{{"model", "translator"}, {"prompt", Json::array({1 << 30})}};
  const Reply complete = server().post("/v1/completions", request);
  request["stream"] = true;
  const Reply stream = server().post("/v1/completions", request);
  EXPECT_EQ(complete.status, 400);
  EXPECT_EQ(stream.status, 400);
  EXPECT_EQ(stream.body, complete.body);
  request["echo"] = true;
  const Reply echoed = server().post("/v1/completions", request);
  EXPECT_EQ(echoed.status, 400);
  EXPECT_EQ(echoed.body, complete.body);
}

// More results than the rows of a batch are refused only when the generation starts.
TEST(OpenAi, AnErrorBeforeTheFirstEventOfAChatHasItsStatus) {
  Json request{{"messages", {{{"role", "user"}, {"content", "the dog"}}}}, {"max_tokens", 4}, {"n", 64}};
  const Reply complete = server().post("/v1/chat/completions", request);
  request["stream"] = true;
  const Reply stream = server().post("/v1/chat/completions", request);
  EXPECT_EQ(complete.status, 400);
  EXPECT_EQ(stream.status, 400);
  EXPECT_EQ(stream.body, complete.body);
}

TEST(OpenAi, ChatAnswersWithTheTemplate) {
  const Model model = load(TestServer::folder("gpt"));
  const std::vector<Message> conversation = {{"system", "be brief"}, {"user", "the lazy dog jumps"}};
  const std::string expected = model.chat(conversation, {.beam = 1, .max_new = 10}, {}, "chatml").at(0).text;
  ASSERT_FALSE(expected.empty());
  const Json messages = {
      {{"role", "system"}, {"content", "be brief"}},
      {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "the lazy dog jumps"}}}}}};
  const Reply reply = server().post(
      "/v1/chat/completions", {{"messages", messages}, {"max_completion_tokens", 10}, {"temperature", 0}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.json()["choices"][0]["message"]["content"], expected);
  // The concatenated deltas of the stream equal the text; the last event has the numbers of tokens.
  const Reply stream = server().post("/v1/chat/completions", {{"messages", messages},
                                                              {"max_completion_tokens", 10},
                                                              {"temperature", 0},
                                                              {"stream", true},
                                                              {"stream_options", {{"include_usage", true}}}});
  EXPECT_EQ(stream.fields.at("content-type"), "text/event-stream; charset=utf-8");
  std::vector<std::string> events = stream.events();
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Json::parse(events[events.size() - 2])["usage"], reply.json()["usage"]);
  EXPECT_EQ(Json::parse(events[events.size() - 3])["choices"][0]["finish_reason"],
            reply.json()["choices"][0]["finish_reason"]);
  EXPECT_EQ(Json::parse(events[0])["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (std::size_t i = 0; i + 2 < events.size(); ++i)
    text += Json::parse(events[i])["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(text, expected);
}

TEST(OpenAi, LogProbabilitiesAreTheModels) {
  const Written expected =
      load(TestServer::folder("gpt")).write("the quick", {.beam = 1, .max_new = 6}).at(0);
  const Json request{
      {"model", "gpt"}, {"prompt", "the quick"}, {"max_tokens", 6}, {"temperature", 0}, {"logprobs", 3}};
  const Json scores = server().post("/v1/completions", request).json()["choices"][0]["logprobs"];
  ASSERT_EQ(scores["token_logprobs"].size(), 6u);
  std::string joined;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(scores["token_logprobs"][i].get<float>(), static_cast<float>(expected.log_probabilities[i]));
    EXPECT_EQ(scores["top_logprobs"][i].size(), 3u);
    EXPECT_TRUE(scores["top_logprobs"][i].contains(scores["tokens"][i].get<std::string>()));
    EXPECT_EQ(scores["text_offset"][i], joined.size());
    joined += scores["tokens"][i].get<std::string>();
  }
  EXPECT_EQ(joined, expected.text);
  Json streamed = request;
  streamed["stream"] = true;
  Json numbers = Json::array();
  for (const std::string& event : server().post("/v1/completions", streamed).events()) {
    if (event == "[DONE]") continue;
    const Json part = Json::parse(event)["choices"][0]["logprobs"];
    if (!part.is_null()) numbers.push_back(part["token_logprobs"][0]);
  }
  EXPECT_EQ(numbers, scores["token_logprobs"]);
}

TEST(OpenAi, StopBiasPenaltiesAndSeveralResults) {
  const std::string all = written("gpt", "the quick", {.beam = 1, .max_new = 30});
  const std::string stop = all.substr(4, 2);
  Json request{{"model", "gpt"}, {"prompt", "the quick"}, {"max_tokens", 30}, {"temperature", 0}};
  Json with = request;
  with["stop"] = Json::array({stop});
  Json choice = server().post("/v1/completions", with).json()["choices"][0];
  EXPECT_EQ(choice["text"], all.substr(0, all.find(stop)));
  EXPECT_EQ(choice["finish_reason"], "stop");
  with = request, with["n"] = 3;
  const Json choices = server().post("/v1/completions", with).json()["choices"];
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[2]["text"], all);
  EXPECT_EQ(choices[2]["index"], 2);
  // A bias of 100 makes a token certain.
  const auto id = Tokenizer(TestServer::folder("gpt")).id_of("z");
  ASSERT_TRUE(id);
  with = request, with["max_tokens"] = 5, with["logit_bias"] = {{std::to_string(*id), 100}};
  EXPECT_EQ(server().post("/v1/completions", with).json()["choices"][0]["text"], "zzzzz");
  with["presence_penalty"] = 2.0, with["frequency_penalty"] = 2.0, with["logit_bias"] = Json::object();
  EXPECT_NE(server().post("/v1/completions", with).json()["choices"][0]["text"], all.substr(0, 5));
  for (const char* name : {"tools", "functions"}) {
    Json refused{{"messages", {{{"role", "user"}, {"content", "a"}}}}, {name, {Json::object()}}};
    const Reply reply = server().post("/v1/chat/completions", refused);
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(reply.json()["error"]["param"], name);
  }
  with = request, with["response_format"] = {{"type", "json_schema"}};
  EXPECT_EQ(server().post("/v1/completions", with).json()["error"]["param"], "response_format");
}

TEST(OpenAi, ErrorsNameTheMember) {
  Reply reply = server().post("/v1/completions", {{"model", "none"}, {"prompt", "a"}});
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.json()["error"]["code"], "model_not_found");
  reply = server().post("/v1/completions", {{"prompt", "a"}});  // ambiguous: two models can generate
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("gpt, translator"), std::string::npos) << reply.body;
  reply = server().post("/v1/completions", {{"model", "gpt"}, {"prompt", "a"}, {"n", 1000}});
  EXPECT_EQ(reply.json()["error"]["param"], "n");
  reply = server().post("/v1/completions", {{"model", "gpt"}, {"prompt", "a"}, {"temperature", "hot"}});
  EXPECT_EQ(reply.json()["error"]["message"], "temperature: expected number, found the string \"hot\"");
  reply = server().post("/v1/completions", {{"model", "gpt"}, {"prompt", std::string(400, 'a')}});
  EXPECT_EQ(reply.status, 400) << "longer than the positions";
  reply = server().post("/v1/completions", {{"model", "gpt"}, {"prompt", {1, 2, 100000}}});
  EXPECT_EQ(reply.status, 400) << reply.body;
}

TEST(OpenAi, NullIsAnAbsentMemberAtAnyDepth) {
  const Json request{{"model", "gpt"},
                     {"messages", {{{"role", "user"}, {"content", "a dog"}}}},
                     {"max_tokens", 4},
                     {"temperature", 0}};
  Json with = request;
  with["response_format"] = {{"type", nullptr}};
  with["stream_options"] = {{"include_usage", nullptr}};
  with["messages"][0]["name"] = nullptr;
  const auto answer = [](const Json& body) {
    return server().post("/v1/chat/completions", body).json()["choices"][0]["message"];
  };
  EXPECT_EQ(answer(with), answer(request));
}

TEST(OpenAi, EmbeddingsAreTheLibrarys) {
  const std::vector<std::string> texts = {"the river bank", "a dog"};
  const Tensor expected =
      Embedder(TestServer::folder("embed"), {.normalise = true, .truncate = true}).embed(texts);
  const Json data = server().post("/v1/embeddings", {{"input", texts}}).json()["data"];
  ASSERT_EQ(data.size(), 2u);
  for (std::int64_t i = 0; i < 2; ++i)
    EXPECT_EQ(data[static_cast<std::size_t>(i)]["embedding"].get<std::vector<float>>(),
              std::vector<float>(expected.row(i), expected.row(i) + expected.columns()));
  const Json encoded = server()
                           .post("/v1/embeddings", {{"input", texts[0]}, {"encoding_format", "base64"}})
                           .json()["data"][0]["embedding"];
  const std::string bytes = text::decode_base64(encoded.get<std::string>()).value();
  ASSERT_EQ(bytes.size(), static_cast<std::size_t>(expected.columns()) * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), expected.row(0), bytes.size()), 0);
  const auto ids = Tokenizer(TestServer::folder("embed")).ids(texts[0]);
  const Json by_ids = server().post("/v1/embeddings", {{"input", ids}}).json()["data"][0]["embedding"];
  EXPECT_EQ(by_ids, data[0]["embedding"]);
  EXPECT_EQ(server()
                .post("/v1/embeddings", {{"input", "a"}, {"dimensions", 4}})
                .json()["data"][0]["embedding"]
                .size(),
            4u);
  EXPECT_EQ(server().post("/v1/embeddings", {{"input", "a"}, {"dimensions", 4000}}).status, 400);
}

TEST(OpenAi, ModelsAreListed) {
  const Json list = server().get("/v1/models").json();
  EXPECT_EQ(list["data"].size(), 7u);
  EXPECT_EQ(server().get("/v1/models/gpt").json()["id"], "gpt");
  EXPECT_EQ(server().get("/v1/models/none").status, 404);
}

TEST(LibreTranslate, TranslatesByJsonFormAndMultipart) {
  const std::string expected = load(TestServer::folder("translator")).translate("the dog");
  Json request{{"q", "the dog"}, {"source", "en"}, {"target", "hi"}};
  EXPECT_EQ(server().post("/translate", request).json()["translatedText"], expected);
  EXPECT_EQ(server().post_form("/translate", "q=the+dog&source=en&target=hi").json()["translatedText"],
            expected);
  const std::string multipart =
      "--x\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nthe dog\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nhi\r\n--x--\r\n";
  EXPECT_EQ(
      server().post_form("/translate", multipart, "multipart/form-data; boundary=x").json()["translatedText"],
      expected);
  request["q"] = {"the dog", "", "a fox. the dog"};
  const Model model = load(TestServer::folder("translator"));
  const Json list = server().post("/translate", request).json()["translatedText"];
  EXPECT_EQ(list[0], expected);
  EXPECT_EQ(list[1], "");
  request["q"] = "the dog", request["source"] = "auto";
  EXPECT_EQ(server().post("/translate", request).json()["detectedLanguage"]["language"], "en");
  request["source"] = "en", request["alternatives"] = 2;
  EXPECT_EQ(server().post("/translate", request).json()["alternatives"].size(), 2u);
  request["q"] = "<p>the dog</p><script>x<y</script>", request["format"] = "html";
  EXPECT_NE(server()
                .post("/translate", request)
                .json()["translatedText"]
                .get<std::string>()
                .find("</p><script>x<y</script>"),
            std::string::npos);
  EXPECT_EQ(server().post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "fr"}}).status, 400);
}

TEST(LibreTranslate, ListsLanguagesAndTranslatesFiles) {
  const Json languages = server().get("/languages").json();
  EXPECT_EQ(languages[0], (Json{{"code", "en"}, {"name", "English"}, {"targets", {"hi"}}}));
  const Reply refused = server().post("/detect", {{"q", "the dog"}});
  EXPECT_EQ(refused.status, 501);
  EXPECT_EQ(refused.json()["kind"], "usage") << refused.body;
  const std::string multipart =
      "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nthe dog\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nhi\r\n--x--\r\n";
  const Reply reply = server().post_form("/translate_file", multipart, "multipart/form-data; boundary=x");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto url = reply.json()["translatedFileUrl"].get<std::string>();
  EXPECT_EQ(server().get(url.substr(url.find("/download_file/"))).body,
            load(TestServer::folder("translator")).translate("the dog"));
  EXPECT_EQ(server().get("/download_file/..%2f..%2fetc%2fpasswd").status, 404);
}

TEST(LibreTranslate, DetectsWithAClassifier) {
  serve::ServeOptions options = serve_options();
  options.detect = TestServer::folder("nli");
  TestServer detecting(options, {"gpt"});
  const auto labels = Classifier(load(TestServer::folder("nli")), {.truncate = true}).classify("the dog");
  const Json found = detecting.post("/detect", {{"q", "the dog"}}).json();
  EXPECT_EQ(found[0]["language"], labels[0].name);
  EXPECT_FLOAT_EQ(found[0]["confidence"].get<float>(), labels[0].score * 100.0f);
}

TEST(Embeddings, EmbedPredictTokenizeAndSimilarity) {
  const Embedder embedder(TestServer::folder("embed"), {.normalise = true});
  const Tensor expected = embedder.embed("the river");
  const Json vectors = server().post("/embed", {{"inputs", "the river"}}).json();
  EXPECT_EQ(vectors[0].get<std::vector<float>>(),
            std::vector<float>(expected.f32(), expected.f32() + expected.elements()));
  EXPECT_EQ(server().post("/embed_all", {{"inputs", "the river"}}).json()[0].size(),
            Tokenizer(TestServer::folder("embed")).ids("the river").size());
  const auto labels = Classifier(load(TestServer::folder("nli"))).classify("a dog", "a fox");
  const Json predicted = server().post("/predict", Json::parse(R"({"inputs":[["a dog","a fox"]]})")).json();
  EXPECT_EQ(predicted[0][0]["label"], labels[0].name);
  EXPECT_EQ(predicted[0][0]["score"].get<float>(), labels[0].score);
  EXPECT_EQ(server().post("/predict", {{"inputs", "a dog"}}).json()[0]["label"],
            Classifier(load(TestServer::folder("nli"))).classify("a dog")[0].name);
  EXPECT_EQ(server().post("/rerank", Json::parse(R"({"query":"a","texts":["b"]})")).status, 400);
  const Json similar =
      server()
          .post("/similarity",
                Json::parse(R"({"inputs":{"source_sentence":"a dog","sentences":["a dog","a river"]}})"))
          .json();
  EXPECT_NEAR(similar[0].get<float>(), 1.0f, 1e-6f);
  for (const char* sentences : {"5", "[5]", "[]", "null"}) {
    const std::string inputs = R"({"source_sentence":"a dog","sentences":)" + std::string(sentences) + "}";
    EXPECT_EQ(server().post("/", {{"model", "embed"}, {"inputs", Json::parse(inputs)}}).status, 400)
        << inputs;
  }
  const Json tokens = server().post("/tokenize", {{"inputs", "the dog"}, {"model", "embed"}}).json();
  std::vector<std::int32_t> ids;
  for (const Json& token : tokens[0]) ids.push_back(token["id"].get<std::int32_t>());
  EXPECT_EQ(ids, Tokenizer(TestServer::folder("embed")).ids("the dog"));
  EXPECT_EQ(server().post("/decode", {{"ids", ids}, {"model", "embed"}}).json()[0],
            Tokenizer(TestServer::folder("embed")).decode(ids));
}

TEST(Embeddings, InfoDescribesTheModel) {
  Json info = server().get("/info").json();
  EXPECT_EQ(info["model_id"], "embed");
  EXPECT_EQ(info["model_dtype"], "float32");
  EXPECT_EQ(info["model_type"], Json::parse(R"({"embedding":{"pooling":"mean"}})"));
  serve::ServeOptions options = serve_options();
  options.weights = WeightMode::int8;
  TestServer classifier(options, {"nli"});
  info = classifier.get("/info").json();
  EXPECT_EQ(info["model_dtype"], "int8");
  const Json& type = info["model_type"]["classifier"];
  const auto labels = Classifier(load(TestServer::folder("nli"))).classify("a dog", "a fox");
  ASSERT_EQ(type["id2label"].size(), labels.size()) << info;
  for (const auto& [id, label] : type["id2label"].items())
    EXPECT_EQ(std::to_string(type["label2id"][label.get<std::string>()].get<int>()), id);
}

TEST(Tasks, AnswerFillTagAndAttend) {
  const std::string text = "the river is long and the dog is old";
  const auto answers = Answerer(load(TestServer::folder("qa"))).answer("what is old", text);
  Json reply = server().post("/answer", {{"question", "what is old"}, {"context", text}}).json();
  EXPECT_EQ(reply["answers"][0]["answer"], answers.at(0).text);
  EXPECT_EQ(reply["answers"][0]["score"].get<float>(), answers.at(0).score);
  reply = server()
              .post("/", {{"model", "qa"}, {"inputs", {{"question", "what is old"}, {"context", text}}}})
              .json();
  EXPECT_EQ(reply["answer"], answers.at(0).text);
  const Filler filler(load(TestServer::folder("fill")));
  const std::string masked = "the " + filler.mask() + " is old";
  reply = server().post("/fill", {{"text", masked}, {"top_k", 2}, {"model", "fill"}}).json();
  EXPECT_EQ(reply["masks"][0][0]["token_str"], filler.fill(masked, 2)[0][0].token);
  const auto tags = Tagger(load(TestServer::folder("ner"))).tag("the dog in the river");
  reply = server().post("/tag", {{"text", "the dog in the river"}}).json();
  ASSERT_EQ(reply["tags"].size(), tags.size());
  for (std::size_t i = 0; i < tags.size(); ++i) EXPECT_EQ(reply["tags"][i]["label"], tags[i].label);
  reply = server().post("/", {{"model", "ner"}, {"inputs", "the dog in the river"}}).json();
  EXPECT_TRUE(reply.is_array()) << reply;
  reply = server().post("/", {{"model", "fill"}, {"inputs", masked}, {"parameters", {{"top_k", 2}}}}).json();
  EXPECT_EQ(reply.size(), 2u) << reply;
  reply = server().post("/", {{"model", "nli"}, {"inputs", "a dog"}}).json();
  EXPECT_EQ(reply[0], server().post("/predict", {{"model", "nli"}, {"inputs", "a dog"}}).json());
  // A server with one model does not need the name in the body.
  TestServer alone(serve_options(), {"fill"});
  EXPECT_EQ(alone.post("/", {{"inputs", masked}}).json().size(), 5u);
  reply = server().post("/attend", {{"model", "gpt"}, {"text", "the dog"}, {"full", true}}).json();
  const Json expected = Json::parse(load(TestServer::folder("gpt")).attend("the dog").json());
  EXPECT_EQ(reply["attention"], expected["attention"]);
  EXPECT_EQ(server().post("/attend", {{"model", "gpt"}, {"text", "a"}, {"layers", {99}}}).status, 400);
}

TEST(Protocols, AttendHasTheTokenizersOfAllModelsAndTheBeams) {
  Json request{{"model", "gpt"}, {"text", "the dog"}, {"page", true}, {"generate", 4}, {"beam", 3}};
  const Json reply = server().post("/attend", request).json();
  EXPECT_EQ(reply["beams"]["width"], 3);
  EXPECT_EQ(reply["beams"]["steps"].size(), 4u);
  const Json& rows = reply["tokenizers"];
  EXPECT_EQ(rows[0]["name"], "gpt");
  std::set<std::string> names;
  for (const Json& row : rows) names.insert(row["name"].get<std::string>());
  EXPECT_EQ(names.size(), rows.size());
  EXPECT_TRUE(names.contains("fill") && names.contains("nli"));
  for (const Json& row : rows) {
    const Json tokens = server().post("/tokenize", {{"model", row["name"]}, {"inputs", "the dog"}}).json()[0];
    ASSERT_EQ(row["tokens"]["ids"].size(), tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) EXPECT_EQ(row["tokens"]["ids"][i], tokens[i]["id"]);
  }
  request["beam"] = 65;
  EXPECT_EQ(server().post("/attend", request).status, 400);
}

}  // namespace
}  // namespace regard::testing
