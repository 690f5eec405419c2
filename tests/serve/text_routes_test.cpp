// The complete responses of the routes of text-embeddings-inference, LibreTranslate and POST /.
#include "base/file.h"
#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& text_server() {
  static TestServer only(
      [] {
        serve::ServeOptions options = serve_options();
        options.folders.push_back({"one-label", golden("evaluate/regression-model")});
        options.folders.push_back({"back", TestServer::folder("translator")});
        options.languages["back"] = {{"hi", "en"}, {"en", "xx"}};
        options.detect = TestServer::folder("nli");
        return options;
      }(),
      {"gpt", "translator", "embed", "nli", "ner", "qa", "fill"});
  return only;
}

Json reply_of(const std::string& path, const Json& body) {
  const Reply reply = text_server().post(path, body);
  EXPECT_EQ(reply.status, 200) << path << body << reply.body;
  return reply.json();
}

TEST(TextRoutes, RerankSortsByScore) {
  const Classifier classifier(load(golden("evaluate/regression-model")));
  const std::vector<std::string> texts = {"a dog", "the river", "a green bank", "a dog"};
  std::vector<std::pair<float, std::size_t>> expected;
  const Json request{{"query", "green"}, {"texts", texts}, {"raw_scores", true}, {"return_text", true}};
  for (std::size_t i = 0; i < texts.size(); ++i)
    expected.emplace_back(-classifier.classify("green", texts[i])[0].score, i);
  std::sort(expected.begin(), expected.end());  // equal scores: by index
  const Json ranks = reply_of("/rerank", request);
  ASSERT_EQ(ranks.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(ranks[i], (Json{{"index", expected[i].second},
                              {"score", -expected[i].first},
                              {"text", texts[expected[i].second]}}));
  const Json plain = reply_of("/rerank", {{"query", "green"}, {"texts", texts}});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plain[i]["index"], ranks[i]["index"]);
    EXPECT_EQ(plain[i].size(), 2u);
    const double score = ranks[i]["score"];
    EXPECT_NEAR(plain[i]["score"].get<double>(), 1.0 / (1.0 + std::exp(-score)), 1e-6) << "sigmoid";
  }
  Json longer{{"query", "green"}, {"texts", {repeated("dog ", 100)}}};
  EXPECT_EQ(text_server().post("/rerank", longer).status, 400);
  longer["truncate"] = true;
  EXPECT_EQ(reply_of("/rerank", longer).size(), 1u);
}

TEST(TextRoutes, TokensHaveAllMembers) {
  const Tokenizer tokenizer(TestServer::folder("embed"));
  const std::string text = "Gr\u00fcne dog";
  const Encoding encoding = tokenizer.encode(text, {.match_special = false});
  Json expected = Json::array();
  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool special = encoding.special[i] != 0;
    expected.push_back({{"id", encoding.ids[i]},
                        {"text", encoding.tokens[i]},
                        {"special", special},
                        {"start", special ? Json() : Json(encoding.character_offsets[i].begin)},
                        {"stop", special ? Json() : Json(encoding.character_offsets[i].end)}});
  }
  EXPECT_EQ(expected.front()["special"], true);
  EXPECT_EQ(reply_of("/tokenize", {{"model", "embed"}, {"inputs", {text, text}}}),
            (Json{expected, expected}));
  Json bare = Json::array();
  for (const Json& token : expected)
    if (!token["special"]) bare.push_back(token);
  EXPECT_EQ(reply_of("/tokenize", {{"model", "embed"}, {"inputs", text}, {"add_special_tokens", false}}),
            Json::array({bare}));
  const auto ids = tokenizer.ids("the dog");
  const Json lists{ids, {ids[1]}};
  EXPECT_EQ(reply_of("/decode", {{"model", "embed"}, {"ids", lists}}),
            (Json{tokenizer.decode(ids), tokenizer.decode({&ids[1], 1})}));
  EXPECT_EQ(reply_of("/decode", {{"model", "embed"}, {"ids", ids}, {"skip_special_tokens", false}}),
            Json::array({tokenizer.decode(ids, false)}));
  EXPECT_NE(tokenizer.decode(ids, false), tokenizer.decode(ids));
  EXPECT_EQ(reply_of("/decode", {{"model", "embed"}, {"ids", Json::array()}}), Json::array({""}));
  const std::int64_t size = tokenizer.vocabulary_size();
  EXPECT_EQ(
      text_server().post("/decode", {{"model", "embed"}, {"ids", {size}}}).json(),
      (Json{{"error", "expected token ids below " + std::to_string(size)}, {"error_type", "validation"}}));
  EXPECT_EQ(reply_of("/decode", {{"model", "embed"}, {"ids", {size - 1}}}).size(), 1u);
}

TEST(TextRoutes, VectorsAreTheLibrarys) {
  const Embedder plain(TestServer::folder("embed")), scaled(TestServer::folder("embed"), {.normalise = true});
  const auto values = [](const Tensor& tensor) {
    return std::vector<float>(tensor.f32(), tensor.f32() + tensor.elements());
  };
  EXPECT_EQ(reply_of("/embed", {{"inputs", "a dog"}, {"normalize", false}})[0], values(plain.embed("a dog")));
  EXPECT_EQ(reply_of("/embed", {{"inputs", "a dog"}})[0], values(scaled.embed("a dog")));
  // "dimensions" returns the first elements of a vector. They are normalised to length 1, except if the
  // request sets "normalize" to false.
  std::vector<float> first = values(plain.embed("a dog"));
  first.resize(4);
  EXPECT_EQ(reply_of("/embed", {{"inputs", "a dog"}, {"normalize", false}, {"dimensions", 4}})[0], first);
  for (const char* path : {"/embed", "/v1/embeddings"}) {
    const bool openai = std::string(path) == "/v1/embeddings";
    const Json json = reply_of(path, {{openai ? "input" : "inputs", "a dog"}, {"dimensions", 4}});
    const auto found = (openai ? json["data"][0]["embedding"] : json[0]).get<std::vector<float>>();
    double length = 0;
    for (const float one : found) length += static_cast<double>(one) * static_cast<double>(one);
    EXPECT_NEAR(length, 1.0, 1e-6) << path;
    EXPECT_NEAR(found[0] / found[1], first[0] / first[1], 1e-4f);
  }
  const std::vector<std::string> texts = {"a dog", "the river", "a bank"};
  const Json similar = reply_of(
      "/similarity", {{"inputs", {{"source_sentence", texts[0]}, {"sentences", {texts[1], texts[2]}}}}});
  const Tensor vectors = plain.embed(texts);
  EXPECT_EQ(similar.get<std::vector<float>>(),
            values(plain.similarities(vectors.slice_rows(0, 1), vectors.slice_rows(1, 3))));
  const Json usage = reply_of("/v1/embeddings", {{"input", texts}});
  std::size_t tokens = 0;
  for (const std::string& text : texts) tokens += Tokenizer(TestServer::folder("embed")).ids(text).size();
  EXPECT_EQ(usage["usage"], (Json{{"prompt_tokens", tokens}, {"total_tokens", tokens}}));
  EXPECT_EQ(usage["model"], "embed");
  EXPECT_EQ(usage["object"], "list");
  EXPECT_EQ(usage["data"][2]["index"], 2);
  EXPECT_EQ(usage["data"][2]["object"], "embedding");
}

TEST(TextRoutes, LimitsOfVectors) {
  const std::string longest = repeated("dog ", 600);
  EXPECT_EQ(reply_of("/embed", {{"inputs", longest}, {"truncate", true}}).size(), 1u);
  EXPECT_EQ(reply_of("/v1/embeddings", {{"input", longest}})["data"].size(), 1u);
  const auto message = [](const Json& input) {
    return text_server().post("/v1/embeddings", {{"input", input}}).json()["error"]["message"];
  };
  const std::int64_t size = Tokenizer(TestServer::folder("embed")).vocabulary_size();
  EXPECT_EQ(message({size}), "expected token ids of the model, found " + std::to_string(size));
  const std::size_t positions = text_server().get("/models/embed").json()["positions"];
  const std::vector<int> most(positions, 5), more(positions + 1, 5);
  EXPECT_EQ(reply_of("/v1/embeddings", {{"input", most}})["data"].size(), 1u);
  EXPECT_EQ(message(more), fmt::format("expected at most {} tokens, found {}", positions, positions + 1));
  EXPECT_EQ(text_server().post("/embed", {{"inputs", "a"}, {"dimensions", 4000}}).json(),
            (Json{{"error", fmt::format("expected at most {} dimensions, found 4000",
                                        Embedder(TestServer::folder("embed")).size())},
                  {"error_type", "validation"}}));
}

TEST(TextRoutes, LabelsAreTheLibrarys) {
  const Classifier classifier(load(TestServer::folder("nli")));
  const auto json_of = [](const std::vector<Label>& labels) {
    Json json = Json::array();
    for (const Label& one : labels) json.push_back({{"score", one.score}, {"label", one.name}});
    return json;
  };
  const Json dog = json_of(classifier.classify("a dog")), pair = json_of(classifier.classify("a dog", "b"));
  const auto predicted = [](const Json& inputs) {
    return reply_of("/predict", {{"model", "nli"}, {"inputs", inputs}});
  };
  EXPECT_EQ(predicted("a dog"), dog);
  EXPECT_EQ(predicted({"a dog", "a dog"}), (Json{dog, dog}));
  EXPECT_EQ(predicted(Json::parse(R"([["a dog"], ["a dog", "b"]])")), (Json{dog, pair}));
  const Json three = Json::parse(R"({"model": "nli", "inputs": [["a", "b", "c"]]})");
  EXPECT_EQ(text_server().post("/predict", three).status, 400);
  const Json raw = reply_of("/predict", {{"model", "nli"}, {"inputs", "a dog"}, {"raw_scores", true}});
  EXPECT_EQ(raw[0]["label"], dog[0]["label"]);
  double sum = 0, first = 0;
  for (const Json& one : raw) sum += std::exp(one["score"].get<double>());
  first = std::exp(raw[0]["score"].get<double>()) / sum;
  EXPECT_NEAR(first, dog[0]["score"].get<double>(), 1e-6);
  EXPECT_EQ(reply_of("/", {{"model", "nli"}, {"inputs", "a dog"}}), Json::array({dog}));
}

TEST(TextRoutes, PostRunsTheModelsTask) {
  const auto inference = [](const char* model, const Json& inputs, const Json& parameters = Json::object()) {
    return reply_of("/", {{"model", model}, {"inputs", inputs}, {"parameters", parameters}});
  };
  const Model gpt = load(TestServer::folder("gpt"));
  const auto continuation = [&](std::int64_t tokens) {
    return gpt.write("the quick", {.max_new = tokens}).at(0).text;
  };
  EXPECT_EQ(inference("gpt", "the quick"), Json::array({{{"generated_text", continuation(20)}}}));
  EXPECT_EQ(inference("gpt", "the quick", {{"max_new_tokens", 3}, {"return_full_text", true}}),
            Json::array({{{"generated_text", "the quick" + continuation(3)}}}));
  const Model translator = load(TestServer::folder("translator"));
  EXPECT_EQ(inference("translator", {"the dog", "a fox"}, {{"tgt_lang", "hi"}}),
            (Json{{{"translation_text", translator.translate("the dog")}},
                  {{"translation_text", translator.translate("a fox")}}}));
  const std::string text = "\u00fc the river is long and the dog is old";
  const auto answers = Answerer(load(TestServer::folder("qa")), {.count = 2}).answer("what is old", text);
  const Json question{{"question", "what is old"}, {"context", text}};
  const Json found = inference("qa", question, {{"top_k", 2}});
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(found[i], (Json{{"score", answers[i].score},
                              {"start", answers[i].begin == 0 ? 0 : answers[i].begin - 1},
                              {"end", answers[i].end - 1},
                              {"answer", answers[i].text}}));
  EXPECT_EQ(inference("qa", question)["answer"],
            Answerer(load(TestServer::folder("qa"))).answer("what is old", text).at(0).text)
      << "one answer is no list";
  const Json tags = inference("ner", "\u00fc the dog", {{"aggregation_strategy", "none"}});
  const auto expected = Tagger(load(TestServer::folder("ner"))).tag("\u00fc the dog");
  ASSERT_EQ(tags.size(), expected.size());
  for (std::size_t i = 0; i < tags.size(); ++i)
    EXPECT_EQ(tags[i], (Json{{"entity", expected[i].label},
                             {"score", expected[i].score},
                             {"word", expected[i].word},
                             {"start", expected[i].begin == 0 ? 0 : expected[i].begin - 1},
                             {"end", expected[i].end - 1}}));
  for (const Json& one : inference("ner", "the dog in the river"))
    EXPECT_TRUE(one.contains("entity_group")) << one;
  const Filler filler(load(TestServer::folder("fill")));
  const auto masks = filler.fill("the <mask> is <mask>", 2);
  const Json filled = inference("fill", "the <mask> is <mask>", {{"top_k", 2}});
  ASSERT_EQ(filled.size(), 2u);
  EXPECT_EQ(filled[1][1]["token_str"], masks[1][1].token);
  EXPECT_EQ(filled[1][1]["score"].get<float>(), masks[1][1].score);
  EXPECT_EQ(filled[1][1]["sequence"], masks[1][1].sequence);
}

TEST(TextRoutes, PostNamesWrongInputs) {
  const auto message = [](const char* model, const Json& inputs) {
    const Reply reply = text_server().post("/", {{"model", model}, {"inputs", inputs}});
    EXPECT_EQ(reply.status, 400) << reply.body;
    return reply.json()["error"];
  };
  const Json object{{"a", 1}}, pairs = Json::parse(R"([["a", "b"]])");
  EXPECT_EQ(message("gpt", object), "this model does not accept an object in \"inputs\"");
  for (const char* model : {"gpt", "translator", "embed"})
    EXPECT_EQ(message(model, pairs), "expected a text or a list of texts for this model");
  EXPECT_EQ(message("gpt", {"a", "b"}), "expected a text in \"inputs\" for this model");
  for (const Json& inputs :
       {Json("a"), Json{{"question", "a"}}, Json{{"context", "a"}}, Json{{"question", 1}, {"context", "a"}},
        Json{{"question", "a"}, {"context", 1}}})
    EXPECT_EQ(message("qa", inputs), "expected \"inputs\" with the members \"question\" and \"context\"");
  EXPECT_EQ(message("embed", {{"sentences", {"a"}}}),
            "expected \"inputs\" with the members \"source_sentence\" and \"sentences\"");
  EXPECT_EQ(message("fill", "no mask"),
            "POST / supports only models that embed, classify, translate or generate texts, or fill masks");
}

TEST(TextRoutes, InfoHasAllMembers) {
  const serve::ServeOptions options = serve_options();
  const auto expected = [&](const Json& info, const char* model, const Json& type, const Json& names) {
    EXPECT_EQ(info, (Json{{"model_id", model},
                          {"model_sha", nullptr},
                          {"model_dtype", "float32"},
                          {"model_type", type},
                          {"max_concurrent_requests", options.in_progress},
                          {"max_input_length", info["max_input_length"]},
                          {"max_batch_tokens", 8192},
                          {"max_client_batch_size", 2048},
                          {"tokenization_workers", options.in_progress},
                          {"version", "1"},
                          {"models", names}}));
  };
  const Json info = text_server().get("/info").json();
  expected(info, "embed", {{"embedding", {{"pooling", "mean"}}}},
           {"one-label", "back", "gpt", "translator", "embed", "nli", "ner", "qa", "fill"});
  EXPECT_EQ(info["max_input_length"], reply_of("/vectors", {{"inputs", Json::array()}})["max_tokens"]);
  serve::ServeOptions one = options;
  one.folders.push_back({"one-label", golden("evaluate/regression-model")});
  TestServer reranker(one, {"nli"});
  const Json of_reranker = reranker.get("/info").json();
  expected(of_reranker, "one-label",
           {{"reranker", {{"id2label", {{"0", "LABEL_0"}}}, {"label2id", {{"LABEL_0", 0}}}}}},
           {"one-label", "nli"});
  EXPECT_EQ(of_reranker["max_input_length"], 40) << "its positions";
}

}  // namespace
}  // namespace regard::testing
