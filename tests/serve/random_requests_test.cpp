// Random requests to every route of the OpenAPI document: values of its schemas, values of other types, and
// random bytes. No response is an error of the server, and each result matches the document's schema.
// REGARD_SOAK_SECONDS sets the length.
#include <cstdlib>
#include <random>

#include "serve/json_schema.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

using Random = std::mt19937;

const char* const kWords[] = {"the quick brown fox",
                              "",
                              "a <mask> dog",
                              "zero decoder.0.0",
                              "scale encoder.0.1 by=0.5",
                              "patch cross.0.0 text=dog",
                              "en",
                              "hi",
                              "decoder.0.0",
                              "\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4\xe0\xa5\x87",
                              "<b>bold</b> & more",
                              "line\nline\ttab",
                              "../../etc/passwd",
                              "0,3-5",
                              "nan"};
const char* const kModels[] = {"gpt", "translator", "embed", "nli", "ner", "qa", "fill", "whisper", "none"};

class RequestMaker {
 public:
  explicit RequestMaker(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }

  // Return in most cases a value of the schema, else one that violates it.
  Json value(const Json& schema, const std::string& name, int depth = 0) {
    if (one_in(25) || depth > 8) return junk();
    if (name == "model") return kModels[below(std::size(kModels))];
    if (schema.contains("anyOf")) return value(schema["anyOf"][below(schema["anyOf"].size())], name, depth);
    if (schema.contains("enum")) return schema["enum"][below(schema["enum"].size())];
    const Json type = schema.value("type", Json("null"));
    const std::string kind =
        type.is_array() ? type[below(type.size())].get<std::string>() : type.get<std::string>();
    if (kind == "string") return text(name);
    if (kind == "boolean") return one_in(2);
    if (kind == "integer") return number(schema);
    if (kind == "number") return static_cast<double>(number(schema)) / (one_in(2) ? 1.0 : 7.0);
    if (kind == "array") return list(schema, name, depth);
    if (kind == "object") return object(schema, depth);
    return nullptr;
  }

  std::string broken(std::string bytes) {
    for (std::size_t i = 0; i <= below(4) && !bytes.empty(); ++i) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random_());
          break;
        case 1:
          bytes.erase(at, 1 + below(8));
          break;
        case 2:
          bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(8)));
          break;
        default:
          bytes.resize(at);
      }
    }
    return bytes;
  }

 private:
  std::string text(const std::string& name) {
    if (name == "source" || name == "target" || name == "to") return one_in(2) ? "en" : "hi";
    std::string word = kWords[below(std::size(kWords))];
    if (one_in(30))
      for (int i = 0; i < 9; ++i) word += word + " ";
    return word;
  }
  std::int64_t number(const Json& schema) {
    const auto low = static_cast<std::int64_t>(schema.value("minimum", 0.0));
    if (one_in(12)) return static_cast<std::int64_t>(schema.value("maximum", 1e9));
    return one_in(8) ? low - 1 : low + static_cast<std::int64_t>(below(4));
  }
  Json list(const Json& schema, const std::string& name, int depth) {
    Json values = Json::array();
    const std::size_t count = one_in(10) ? 0 : schema.value("minItems", std::size_t{0}) + below(3);
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(schema.contains("items") ? value(schema["items"], name, depth + 1) : junk());
    return values;
  }
  Json object(const Json& schema, int depth) {
    Json made = Json::object();
    if (!schema.contains("properties")) {
      const std::pair<const char*, Json> members[] = {
          {"do", "zero"},      {"at", "decoder.0.0"}, {"role", "user"},     {"content", "hello"},
          {"question", "who"}, {"context", "me"},     {"sentences", {"a"}}, {"source_sentence", "b"}};
      for (const auto& [name, member] : members)
        if (one_in(3)) made[name] = one_in(6) ? junk() : member;
      return made;
    }
    const Json needed = schema.value("required", Json::array());
    for (const auto& [name, member] : schema["properties"].items()) {
      const bool required = std::find(needed.begin(), needed.end(), name) != needed.end();
      if (required ? !one_in(40) : one_in(4)) made[name] = value(member, name, depth + 1);
    }
    return made;
  }
  Json junk() {
    const Json values[] = {nullptr,
                           true,
                           -1,
                           1e300,
                           18446744073709551615u,
                           "",
                           "\u0000",
                           Json::array(),
                           Json::object(),
                           {1, "a", nullptr},
                           {{"a", {{"b", 1}}}}};
    return values[below(std::size(values))];
  }

  Random random_;
};

struct DocumentedRoute {
  std::string path;
  Json request, response;
};

std::vector<DocumentedRoute> posted_routes(TestServer& server) {
  std::vector<DocumentedRoute> routes;
  const Json document = server.get("/openapi.json").json();
  for (const auto& [path, methods] : document["paths"].items()) {
    if (!methods.contains("post")) continue;
    const Json& content = methods["post"]["requestBody"]["content"];
    const Json& answer = methods["post"]["responses"]["200"]["content"];
    DocumentedRoute route{path, content.begin().value()["schema"], nullptr};
    if (answer.contains("application/json"))
      route.response = answer["application/json"].value("schema", Json());
    if (content.contains("application/json")) routes.push_back(std::move(route));
  }
  return routes;
}

TEST(RandomRequests, AreAnsweredAsDocumented) {
  const char* seconds = std::getenv("REGARD_SOAK_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 5);
  serve::ServeOptions options = serve_options();
  options.most_new_tokens = 6, options.timeout = std::chrono::seconds(30);
  options.http.header = options.http.body = std::chrono::seconds(1);  // broken lengths
  TestServer server(options, {"gpt", "translator", "embed", "nli", "ner", "qa", "fill", "whisper"});
  const std::vector<DocumentedRoute> routes = posted_routes(server);
  ASSERT_GE(routes.size(), 20u);
  RequestMaker maker(seconds ? std::random_device()() : 5);
  int asked = 0, unanswered = 0;
  std::map<int, long> statuses;
  std::map<std::string, long> answered;
  while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure()) {
    const DocumentedRoute& route = routes[maker.below(routes.size())];
    std::string body = maker.value(route.request, "").dump(-1, ' ', false, Json::error_handler_t::replace);
    if (maker.one_in(6)) body = maker.broken(body);
    std::string request = request_text("POST", route.path, body);
    const bool whole = !maker.one_in(20);
    if (!whole) request = maker.broken(request);
    RawClient client(server.port());
    client.send(request);
    const bool waits = !maker.one_in(20);
    const Reply reply = client.read(waits ? 40 : 0);
    ++statuses[reply.status];
    EXPECT_TRUE(reply.status < 500 || reply.status == 501) << request << "\n" << reply.body;
    asked += whole && waits, unanswered += whole && waits && reply.status == 0;
    if (reply.status != 200) continue;
    ++answered[route.path];
    if (route.response.is_null() || !reply.fields.at("content-type").starts_with("application/json"))
      continue;
    const auto bad = serve::violation_of(route.response, reply.json());
    EXPECT_FALSE(bad) << request << "\n" << bad->place << ": " << bad->message << "\n" << reply.body;
  }
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_FALSE(answered.empty()) << "no request was right";
  EXPECT_LE(unanswered * 10, asked)
      << "a busy machine may stall a client for the second that a header may take";
  for (const auto& [status, count] : statuses) std::printf("status %d: %ld\n", status, count);
  std::printf("%zu of %zu routes answered with 200\n", answered.size(), routes.size());
}

}  // namespace
}  // namespace regard::testing
