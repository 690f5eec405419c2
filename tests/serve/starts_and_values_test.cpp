// Errors at the start of the server, and values of forms, vectors and interventions.
#include <cmath>

#include "serve/access_log.h"
#include "support/namespaces.h"
#include "support/test_server.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(ServerStart, TheDetectorIsAClassifier) {
  serve::ServeOptions options = serve_options();
  options.detect = TestServer::folder("gpt");
  EXPECT_REGARD_ERROR(TestServer(options, {"gpt"}), ErrorKind::usage,
                      options.detect.string() + ": the model of --detect is not a classifier");
}

TEST(ServerStart, TheAddressIsNumeric) {
  serve::ServeOptions options = serve_options();
  for (const char* address : {"example.org", "127.0.0", ""}) {
    options.host = address;
    EXPECT_REGARD_ERROR(TestServer(options, {"gpt"}), ErrorKind::usage, "address");
  }
}

TEST(ServerStart, TheAccessLogCanBeOpened) {
  EXPECT_REGARD_ERROR(serve::AccessLog("/none/log"), ErrorKind::io,
                      "/none/log: cannot open the access log: No such file or directory");
}

// The vector of "embed" is the normalised mean of the states of all tokens.
TEST(RouteValues, TheMeanOfAllStatesIsTheVector) {
  TestServer server(serve_options(), {"embed"});
  const Json request{{"model", "embed"}, {"inputs", {"the green river", "a dog"}}};
  const Json states = server.post("/embed_all", request).json(),
             vectors = server.post("/embed", request).json();
  ASSERT_EQ(states.size(), 2u);
  ASSERT_EQ(vectors.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto vector = vectors[i].get<std::vector<double>>();
    std::vector<double> mean(vector.size());
    double squares = 0;
    for (const Json& row : states[i]) {
      ASSERT_EQ(row.size(), mean.size());
      for (std::size_t f = 0; f < mean.size(); ++f) mean[f] += row[f].get<double>();
    }
    for (const double value : mean) squares += value * value;
    for (std::size_t f = 0; f < mean.size(); ++f) EXPECT_NEAR(mean[f] / std::sqrt(squares), vector[f], 1e-5);
  }
  // The texts of a request with interventions are computed in groups of 32.
  Json many{{"model", "embed"}, {"inputs", Json::array()}, {"interventions", {"zero encoder.0.0"}}};
  for (int i = 0; i < 65; ++i) many["inputs"].push_back(i % 2 == 0 ? "the green river" : "a dog");
  const Json all = server.post("/embed", many).json();
  ASSERT_EQ(all.size(), 65u);
  EXPECT_NE(all[0], vectors[0]);
  EXPECT_NE(all[0], all[1]);
  for (std::size_t i = 2; i < 65; ++i) EXPECT_EQ(all[i], all[i % 2]) << i;
}

TEST(RouteValues, TextsOfInterventionsHaveAtMost1024Tokens) {
  TestServer server(serve_options(), {"gpt"});
  const auto message = [&](std::size_t letters) {
    const std::string text = "patch decoder.0.residual positions=0 text=" + std::string(letters, 'a');
    const Json request{{"model", "gpt"}, {"prompt", "a"}, {"max_tokens", 1}, {"interventions", {text}}};
    return server.post("/v1/completions", request).json()["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(message(1025), "expected at most 1024 tokens, found 1025");
  EXPECT_EQ(message(1024),
            "the text is too long for the model (expected at most 256, found 1024 tokens). Split the text");
}

// The values of a form are converted to the types of the schema. A repeated field is a list.
TEST(RouteValues, FormsHaveTheValuesOfJson) {
  TestServer server(serve_options(), {"translator"});
  const auto form = [&](const std::string& fields) {
    return server.post_form("/translate", "source=en&target=hi&" + fields);
  };
  Json request{
      {"q", {"the dog", "a river", "a fox"}}, {"source", "en"}, {"target", "hi"}, {"alternatives", 1}};
  const Json expected = server.post("/translate", request).json();
  ASSERT_EQ(expected["translatedText"].size(), 3u) << expected;
  ASSERT_TRUE(expected.contains("alternatives")) << expected;
  EXPECT_EQ(form("q=the+dog&q=a+river&q=a+fox&alternatives=1&other=1&other=2").json(), expected);
  request["q"] = "the dog";
  EXPECT_EQ(form("q=the+dog&alternatives=1").json(), server.post("/translate", request).json());
  const Reply wrong = form("q=a&alternatives=x");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_TRUE(wrong.json()["error"].get<std::string>().starts_with("alternatives: expected integer"))
      << wrong.body;
}

}  // namespace
}  // namespace regard::testing
