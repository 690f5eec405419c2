// Random requests to every route of the OpenAPI document: values of its schemas, values of other types, and
// random bytes, as JSON, forms and files. No response has a status above 499 except 501, and each result
// matches the schema. REGARD_SOAK_SECONDS sets the length of the test.
#include <cstdlib>
#include <random>

#include "base/file.h"
#include "serve/json_schema.h"
#include "support/namespaces.h"
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
const char* const kModels[] = {"gpt", "translator", "embed",   "nli", "ner",
                               "qa",  "fill",       "whisper", "vit", "none"};

class RequestMaker {
 public:
  explicit RequestMaker(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }

  // Return a value of the schema in most cases, else a random value that may violate it.
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

using FormFields = std::vector<std::pair<std::string, std::string>>;

// Return the members of an object as fields of a form. A list becomes repeated fields.
FormFields fields_of(const Json& object) {
  FormFields fields;
  const auto text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>()
                             : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  if (!object.is_object()) return {{"", text(object)}};
  for (const auto& [name, value] : object.items())
    if (value.is_array())
      for (const Json& one : value) fields.emplace_back(name, text(one));
    else
      fields.emplace_back(name, text(value));
  return fields;
}

std::string url_encoded(const FormFields& fields) {
  std::string body;
  const auto add = [&](const std::string& text) {
    for (const char letter : text) {
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(letter)));
      body += std::isalnum(static_cast<unsigned char>(letter)) ? std::string(1, letter) : std::string(code);
    }
  };
  for (const auto& [name, value] : fields)
    body += body.empty() ? "" : "&", add(name), body += '=', add(value);
  return body;
}

// `content` is sent as a file in the field `file`.
std::string multipart(const FormFields& fields, const std::string& content) {
  std::string body;
  for (const auto& [name, value] : fields) {
    const bool file = name == "file" && !content.empty();
    body += "--edge\r\nContent-Disposition: form-data; name=\"" + name + "\"" +
            (file ? "; filename=\"a.html\"" : "") + "\r\n\r\n" + (file ? content : value) + "\r\n";
  }
  return body + "--edge--\r\n";
}

struct DocumentedRoute {
  std::string method, path;
  Json request, response;
  std::vector<std::string> types;  // content types of the body
};

std::vector<DocumentedRoute> documented_routes(TestServer& server) {
  std::vector<DocumentedRoute> routes;
  const Json document = server.get("/openapi.json").json();
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      DocumentedRoute route{method == "get" ? "GET" : "POST", path, nullptr, nullptr, {}};
      if (operation.contains("requestBody"))
        for (const auto& [type, content] : operation["requestBody"]["content"].items())
          route.request = content["schema"], route.types.push_back(type);
      const Json& answer = operation["responses"]["200"]["content"];
      if (answer.contains("application/json"))
        route.response = answer["application/json"].value("schema", Json());
      routes.push_back(std::move(route));
    }
  }
  return routes;
}

// Files for the routes that read a file: a sound, a picture, an HTML page, and a truncated WAV header.
std::vector<std::string> sample_files() {
  return {read_file(TestServer::folder("whisper") + "/short.wav"),
          read_file(golden("pictures/bits2.png").string()), "<p>the quick <b>brown</b> fox</p>",
          std::string("RIFF\0\0\xff\xffWAVEfmt ", 16)};
}

// Return a request to the route. Set `complete` to false if the request was damaged and may be incomplete.
std::string random_request(RequestMaker& maker, const DocumentedRoute& route,
                           const std::vector<std::string>& files, bool& complete) {
  std::string path = route.path;
  if (const std::size_t brace = path.find('{'); brace != path.npos)
    path = path.substr(0, brace) + (maker.one_in(2) ? kModels[maker.below(std::size(kModels))] : "%2e%2E%00");
  if (maker.one_in(10)) path += "?model=gpt&a=%20";
  std::string request;
  if (route.types.empty()) {
    request = request_text(maker.one_in(8) ? "HEAD" : route.method, path);
  } else {
    std::string type = route.types[maker.below(route.types.size())];
    const Json value = maker.value(route.request, "");
    std::string body;
    if (type == "application/json") {
      body = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    } else if (type == "multipart/form-data") {
      std::string file = route.request["properties"].contains("file") ? files[maker.below(files.size())] : "";
      if (!file.empty() && maker.one_in(4)) file = maker.broken(file);
      body = multipart(fields_of(value), file);
      type += "; boundary=edge";
    } else {
      body = url_encoded(fields_of(value));
    }
    if (maker.one_in(6)) body = maker.broken(body);
    request = request_text("POST", path, body, type);
  }
  complete = !maker.one_in(20) || request.starts_with("HEAD");
  return complete ? request : maker.broken(request);
}

// Numbers of replies by status, and of replies with status 200 by route.
struct RandomTally {
  int asked = 0, unanswered = 0;
  std::map<int, long> statuses;
  std::map<std::string, long> answered;
};

void ask_at_random(RequestMaker& maker, const DocumentedRoute& route, const std::vector<std::string>& files,
                   std::uint16_t port, RandomTally& tally) {
  bool complete = true;
  const std::string request = random_request(maker, route, files, complete);
  RawClient client(port);
  client.send(request);
  if (request.starts_with("HEAD")) {  // the response has a length but no body
    EXPECT_TRUE(client.read_until("\r\n\r\n", 40)) << request;
    return;
  }
  const bool waits = !maker.one_in(20);
  const Reply reply = client.read(waits ? 40 : 0);
  ++tally.statuses[reply.status];
  EXPECT_TRUE(reply.status < 500 || reply.status == 501) << request.substr(0, 4000) << "\n" << reply.body;
  tally.asked += complete && waits, tally.unanswered += complete && waits && reply.status == 0;
  if (reply.status != 200) return;
  ++tally.answered[route.method + " " + route.path];
  if (route.response.is_null() || !reply.fields.at("content-type").starts_with("application/json")) return;
  const auto bad = serve::violation_of(route.response, reply.json());
  EXPECT_FALSE(bad) << request.substr(0, 4000) << "\n"
                    << bad->place << ": " << bad->message << "\n"
                    << reply.body;
}

TEST(RandomRequests, AreAnsweredAsDocumented) {
  const char* seconds = std::getenv("REGARD_SOAK_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 5);
  serve::ServeOptions options = serve_options();
  options.most_new_tokens = 6, options.timeout = std::chrono::seconds(30);
  options.http.header = options.http.body = std::chrono::seconds(1);  // for requests with wrong lengths
  TestServer server(options, {"gpt", "translator", "embed", "nli", "ner", "qa", "fill", "whisper", "vit"});
  const std::vector<DocumentedRoute> routes = documented_routes(server);
  ASSERT_GE(routes.size(), 35u);
  const std::vector<std::string> files = sample_files();
  RequestMaker maker(seconds ? std::random_device()() : 5);
  RandomTally tally;
  while (std::chrono::steady_clock::now() < end && !::testing::Test::HasFailure())
    ask_at_random(maker, routes[maker.below(routes.size())], files, server.port(), tally);
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_FALSE(tally.answered.empty()) << "no request was right";
  EXPECT_LE(tally.unanswered * 10, tally.asked)
      << "a busy machine may stall a client for the second that a header may take";
  for (const auto& [status, count] : tally.statuses) std::printf("status %d: %ld\n", status, count);
  std::printf("%zu of %zu routes answered with 200\n", tally.answered.size(), routes.size());
  for (const DocumentedRoute& route : routes)
    if (!tally.answered.contains(route.method + " " + route.path))
      std::printf("no result: %s %s\n", route.method.c_str(), route.path.c_str());
}

}  // namespace
}  // namespace regard::testing
