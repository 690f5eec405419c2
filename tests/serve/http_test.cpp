// The HTTP layer with hostile and unusual requests.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/file.h"
#include "serve/access_log.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

class HttpTest : public ::testing::Test {
 protected:
  static TestServer& server() {
    static TestServer only(
        [] {
          serve::ServeOptions options = serve_options();
          options.http.header = std::chrono::seconds(1), options.http.body = std::chrono::seconds(1);
          options.http.connections = 40;
          return options;
        }(),
        {"gpt"});
    return only;
  }
  static Reply exchange(const std::string& bytes) {
    RawClient client(server().port());
    client.send(bytes);
    return client.read();
  }
  // Expect that the server still responds.
  static void expect_alive() { EXPECT_EQ(server().get("/health").status, 200); }
};

TEST_F(HttpTest, HealthAndKeepAlive) {
  RawClient client(server().port());
  for (int i = 0; i < 3; ++i) {
    client.send(request_text("GET", "/health"));
    const Reply reply = client.read();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.json(), (Json{{"status", "ok"}}));
    EXPECT_EQ(reply.fields.at("connection"), "keep-alive");
    EXPECT_EQ(reply.fields.at("x-content-type-options"), "nosniff");
  }
  client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read().fields.at("connection"), "close");
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpTest, NoContentHasNoLength) {
  const Reply reply = exchange(
      "OPTIONS /health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_EQ(reply.status, 204);
  EXPECT_FALSE(reply.fields.contains("content-length"));
  EXPECT_TRUE(reply.body.empty());
}

TEST_F(HttpTest, HeadHasNoBodyAndHttp10Closes) {
  const Reply head = exchange("HEAD /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(head.status, 0);  // read() waits for a body of Content-Length bytes, and the connection ends
  RawClient client(server().port());
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(client.read_until("200 OK"));
  RawClient old(server().port());
  old.send("GET /health HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read().status, 200);
  EXPECT_TRUE(old.closed());
}

TEST_F(HttpTest, RefusesWhatProxiesReadDifferently) {
  const char* const bad[] = {
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: "
      "5\r\n\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello",
      "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET /health HTTP/1.1\r\n\r\n",
      "GET /health HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET  /health HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET health HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
  };
  for (const char* text : bad) {
    RawClient client(server().port());
    client.send(text);
    const Reply reply = client.read(3);
    EXPECT_EQ(reply.status, 400) << text;
    EXPECT_TRUE(client.closed()) << text;
  }
  expect_alive();
}

TEST_F(HttpTest, RefusesWhatIsTooLarge) {
  EXPECT_EQ(
      exchange("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + std::string(9000, 'a') + "\r\n\r\n")
          .status,
      431);
  EXPECT_EQ(exchange("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 431);
  EXPECT_EQ(
      exchange("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n").status,
      413);
  // The limit on the size of a body also applies to a chunked body, whose length is not given.
  std::string chunks =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) chunks += "10000\r\n" + std::string(65536, 'a') + "\r\n";
  EXPECT_EQ(exchange(chunks).status, 413);
  const std::string deep = "{\"prompt\":" + std::string(100, '[') + std::string(100, ']') + "}";
  const Reply reply = exchange(request_text("POST", "/v1/completions", deep));
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("64"), std::string::npos) << reply.body;
  expect_alive();
}

TEST_F(HttpTest, ClosesSlowConnections) {
  RawClient header(server().port()), body(server().port()), drips(server().port());
  header.send("GET /health HTTP/1.1\r\nHost: loc");
  body.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  for (int i = 0; i < 15; ++i) {  // a byte every 100 ms does not extend the time limit
    if (!drips.send("G")) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(header.closed(4));
  EXPECT_TRUE(body.closed(4));
  EXPECT_TRUE(drips.closed(4));
  expect_alive();
}

TEST_F(HttpTest, BoundsTheNumberOfConnections) {
  {
    std::vector<std::unique_ptr<RawClient>> clients;
    int refused = 0;
    for (int i = 0; i < 60; ++i) clients.push_back(std::make_unique<RawClient>(server().port()));
    for (auto& client : clients) {
      client->send(request_text("GET", "/health"));
      const Reply reply = client->read(5);
      refused += reply.status == 503 || reply.status == 0 ? 1 : 0;
    }
    EXPECT_GE(refused, 20);
    EXPECT_LE(refused, 25);
  }
  for (int i = 0; i < 100 && server().service().connections() > 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  expect_alive();
}

TEST_F(HttpTest, PipelinedRequestsAreNotAnswered) {
  RawClient client(server().port());
  client.send(request_text("GET", "/health") + request_text("GET", "/metrics"));
  EXPECT_EQ(client.read().status, 200);
  EXPECT_TRUE(client.closed());
}

TEST_F(HttpTest, KnowsPathsMethodsAndTypes) {
  EXPECT_EQ(server().get("/no/such/path").status, 404);
  EXPECT_EQ(server().get("/etc/passwd").status, 404);
  EXPECT_EQ(server().get("/v1/../../etc/passwd").status, 404);
  EXPECT_EQ(server().get("/v1/completions").status, 405);
  EXPECT_EQ(server().get("/v1/completions").fields.at("allow"), "POST");
  EXPECT_EQ(exchange(request_text("DELETE", "/")).fields.at("allow"), "GET, HEAD, POST");
  EXPECT_EQ(exchange(request_text("DELETE", "/health")).status, 405);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "{}", "text/plain")).status, 415);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "prompt=a", "application/x-www-form-urlencoded"))
                .status,
            415);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":1}",
                                  "application/json", "Content-Encoding: gzip\r\n"))
                .status,
            415);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "{")).status, 400);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "{\"prompt\":\"\xff\"}")).status, 400);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "{\"prompt\":\"a\",\"prompt\":\"b\"}")).status,
            400);
  EXPECT_EQ(exchange(request_text("POST", "/v1/completions", "[]")).status, 400);
}

TEST_F(HttpTest, AnswersForKnownHostsAndOrigins) {
  const auto with = [](const std::string& host, const std::string& fields = "") {
    return exchange("GET /health HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n").status;
  };
  EXPECT_EQ(with("localhost"), 200);
  EXPECT_EQ(with("LOCALHOST:8080"), 200);
  EXPECT_EQ(with("127.0.0.1:8080"), 200);
  EXPECT_EQ(with("[::1]:8080"), 200);
  EXPECT_EQ(with("evil.example"), 421);
  EXPECT_EQ(with("evil.example:8080"), 421);
  EXPECT_EQ(with("localhost.evil.example"), 421);
  EXPECT_EQ(with("localhost", "Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(with("localhost", "Origin: null\r\n"), 403);
  EXPECT_EQ(with("localhost:8080", "Origin: http://localhost:8080\r\n"), 200);
}

TEST_F(HttpTest, ThePageRunsNoOtherScript) {
  const Reply reply = server().get("/");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields.at("content-type"), "text/html; charset=utf-8");
  const std::string policy = reply.fields.at("content-security-policy");
  EXPECT_NE(policy.find("default-src 'none'; script-src 'sha256-"), std::string::npos) << policy;
  EXPECT_EQ(policy.find("script-src 'unsafe-inline'"), std::string::npos);
}

TEST_F(HttpTest, OpenApiDescribesEveryRoute) {
  const Json document = server().get("/openapi.json").json();
  EXPECT_EQ(document["openapi"], "3.1.0");
  for (const char* path :
       {"/v1/chat/completions", "/v1/embeddings", "/translate", "/embed", "/attend", "/health"})
    EXPECT_TRUE(document["paths"].contains(path)) << path;
  const Json& schema =
      document["paths"]["/v1/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(schema["required"], Json::array({"prompt"}));
  EXPECT_EQ(schema["properties"]["n"]["maximum"], 64);
}

TEST_F(HttpTest, MetricsCountRequests) {
  server().post("/v1/completions", {{"prompt", "the quick"}, {"max_tokens", 4}});
  // A request is counted after its response was sent, so the client may have the response before the count.
  const std::string counted = "regard_requests_total{route=\"/v1/completions\",status=\"200\"}";
  std::string text;
  for (int i = 0; i < 500 && text.find(counted) == text.npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    text = server().get("/metrics").body;
  }
  EXPECT_NE(text.find(counted), std::string::npos) << text;
  EXPECT_NE(text.find("regard_completion_tokens_total{model=\"gpt\"}"), std::string::npos);
  EXPECT_NE(text.find("regard_time_to_first_token_seconds_bucket{model=\"gpt\",le=\"+Inf\"}"),
            std::string::npos);
}

TEST(HttpLog, CountsTheBytesOfTheBodyThatIsSent) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.access_log = (folder / "log").string();
  TestServer server(options, {"gpt"});
  const auto logged = [&](const char* method) {
    RawClient client(server.port());
    client.send(request_text(method, "/v1/models"));
    EXPECT_TRUE(client.read_until("200 OK"));
    const std::string start = fmt::format("\"method\":\"{}\"", method);
    EXPECT_TRUE(
        becomes([&] { return read_file((folder / "log").string()).find(start) != std::string::npos; }));
    for (const std::string& line : lines_of(read_file((folder / "log").string())))
      if (line.find(start) != std::string::npos) return Json::parse(line);
    return Json();
  };
  EXPECT_GT(logged("GET").at("bytes"), 0);
  const Json head = logged("HEAD");
  EXPECT_EQ(head.at("bytes"), 0);
  EXPECT_EQ(head.at("status"), 200);
}

// A request is logged even if the server refuses it before all of it has been read.
TEST(HttpLog, ContainsRefusedRequestsAndPreflights) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.access_log = (folder / "log").string();
  TestServer server(options, {"gpt"});
  const struct {
    std::string bytes, method, path;
    int status;
  } requests[] = {
      {"GET /no-version\r\n\r\n", "", "", 400},
      {"GET /two-hosts HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET", "/two-hosts", 400},
      {"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n", "POST", "/embed", 413},
      {"OPTIONS /health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: "
       "close\r\n\r\n",
       "OPTIONS", "/health", 204}};
  std::size_t count = 0;
  for (const auto& request : requests) {
    RawClient client(server.port());
    client.send(request.bytes);
    const Reply reply = client.read();
    EXPECT_EQ(reply.status, request.status) << request.bytes;
    ++count;
    const auto log = [&] { return lines_of(read_file((folder / "log").string())); };
    ASSERT_TRUE(becomes([&] { return log().size() == count; })) << request.bytes;
    const Json line = Json::parse(log().back());
    EXPECT_EQ(line.at("status"), request.status);
    EXPECT_EQ(line.at("method"), request.method);
    EXPECT_EQ(line.at("path"), request.path);
    EXPECT_EQ(line.at("client"), "127.0.0.1");
    EXPECT_EQ(line.at("bytes"), reply.body.size());
  }
}

// If the disk is full, a part of a line may be written. Later lines are still JSON objects on lines of their
// own.
TEST(HttpLog, BeginsALineAfterAnIncompleteOne) {
  const TemporaryFolder folder;
  const std::string file = (folder / "log").string();
  serve::AccessLog log(file);
  const auto write = [&](const char* path) {
    serve::AccessEntry entry;
    entry.path = path;
    log.write(entry);
  };
  write("/first");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit full = before;
  full.rlim_cur = read_file(file).size() + 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  for (int i = 0; i < 2; ++i) write("/lost");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  for (int i = 0; i < 2; ++i) write("/last");
  const std::vector<std::string> lines = lines_of(read_file(file));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(Json::parse(lines[0]).at("path"), "/first");
  EXPECT_EQ(lines[1].size(), 20u);
  for (const std::size_t last : {2, 3}) EXPECT_EQ(Json::parse(lines[last]).at("path"), "/last");
}

// Status 499 means that the client disconnected before the response, while it sent the body or later.
TEST(HttpLog, ContainsRequestsOfClientsThatLeft) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.access_log = (folder / "log").string();
  TestServer server(options, {"gpt"});
  const Json body{{"prompt", std::vector<std::string>(200, "the")}, {"max_tokens", 200}};
  const std::string whole = request_text("POST", "/v1/completions", body.dump());
  std::size_t count = 0;
  for (const std::string& bytes : {whole.substr(0, whole.size() - 1), whole}) {
    RawClient client(server.port());
    client.send(bytes);
    if (bytes == whole) {
      EXPECT_TRUE(becomes([&] { return server.service().metrics().in_progress == 1; }));
    }
    client.reset();
    ++count;
    const auto log = [&] { return lines_of(read_file((folder / "log").string())); };
    ASSERT_TRUE(becomes([&] { return log().size() == count; }));
    const Json line = Json::parse(log().back());
    EXPECT_EQ(line.at("status"), 499);
    EXPECT_EQ(line.at("path"), "/v1/completions");
    EXPECT_EQ(line.at("bytes"), 0);
  }
}

TEST(HttpKeys, AreNeededOffLoopbackAndCompared) {
  serve::ServeOptions options = serve_options();
  options.host = "0.0.0.0";
  EXPECT_THROW(TestServer(options, {"gpt"}), Error);
  const TemporaryFolder folder;
  write_file(folder.path(), "keys", "# keys\n0123456789abcdef0123\nfedcba9876543210fedc\n");
  options.host = "127.0.0.1", options.api_keys = folder / "keys";
  TestServer server(options, {"gpt", "translator"});
  const auto with = [&](const std::string& fields) {
    RawClient client(server.port());
    client.send(request_text("GET", "/v1/models", "", "", fields));
    return client.read();
  };
  EXPECT_EQ(with("").status, 401);
  EXPECT_EQ(with("").fields.at("www-authenticate"), "Bearer");
  EXPECT_EQ(with("Authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(with("Authorization: Bearer 0123456789abcdef0123\r\n").status, 200);
  EXPECT_EQ(with("X-API-Key: fedcba9876543210fedc\r\n").status, 200);
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_EQ(server.get("/metrics").status, 401);
  // LibreTranslate's clients send the key in the body.
  Json body{{"q", "the dog"}, {"source", "en"}, {"target", "hi"}};
  EXPECT_EQ(server.post("/translate", body).status, 401);
  body["api_key"] = "fedcba9876543210fedc";
  EXPECT_EQ(server.post("/translate", body).status, 200);
  write_file(folder.path(), "short", "abc\n");
  options.api_keys = folder / "short";
  EXPECT_THROW(TestServer(options, {"gpt"}), Error);
}

}  // namespace
}  // namespace regard::testing
