// The HTTP connection: keep-alive, input after a refusal, HTTP/1.0, Expect, origins; and the places of the
// queues.
#include "base/file.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& plain_server() {
  static TestServer only(
      [] {
        serve::ServeOptions options = serve_options();
        options.origins = {"http://page.example"}, options.allowed_hosts = {"Served.Example"};
        return options;
      }(),
      {"gpt"});
  return only;
}

Reply response_to(RawClient& client, const std::string& bytes) {
  client.send(bytes);
  return client.read();
}

Reply response_to(const std::string& bytes) {
  RawClient client(plain_server().port());
  return response_to(client, bytes);
}

const std::string kHead = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n";
const std::string kStream = R"({"prompt":"the","max_tokens":3,"temperature":0,"stream":true})";

TEST(Connection, StaysOpenAfterAStreamAndAnError) {
  RawClient client(plain_server().port());
  for (int i = 0; i < 2; ++i) {
    const Reply stream = response_to(client, request_text("POST", "/v1/completions", kStream));
    EXPECT_EQ(stream.status, 200);
    EXPECT_EQ(stream.fields.at("connection"), "keep-alive");
    EXPECT_EQ(stream.events().back(), "[DONE]");
    const Reply wrong = response_to(client, request_text("POST", "/v1/completions", "{}"));
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(wrong.fields.at("connection"), "keep-alive");
  }
  client.send("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(client.read_until("Connection: keep-alive\r\n\r\n"));
}

// The server waits at most `idle` for the first byte of a request. The time limit `header` starts with that
// byte.
TEST(Connection, IsClosedWithoutARequest) {
  serve::ServeOptions options = serve_options();
  options.http.idle = std::chrono::seconds(0), options.http.header = std::chrono::seconds(100);
  TestServer server(options, {"gpt"});
  EXPECT_TRUE(RawClient(server.port()).closed());
}

TEST(Connection, StreamsToHttp10UntilItCloses) {
  RawClient client(plain_server().port());
  client.send(
      "POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n" +
      fmt::format("Content-Length: {}\r\n\r\n", kStream.size()) + kStream);
  const Reply reply = client.read();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.fields.at("connection"), "close");
  EXPECT_FALSE(reply.fields.contains("transfer-encoding"));
  EXPECT_EQ(reply.events().back(), "[DONE]") << reply.body;
  const std::string http10 = "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
  RawClient kept(plain_server().port());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(response_to(kept, http10).fields.at("connection"), "keep-alive");
}

// After a refusal, the server reads and drops further input, so that the client receives the response. It
// closes the connection after 1 MiB.
TEST(Connection, DropsInputAfterARefusal) {
  RawClient client(plain_server().port());
  EXPECT_EQ(response_to(client, kHead + "Content-Length: 1073741824\r\n\r\n").status, 413);
  const std::string part(65536, 'x');
  for (int i = 0; i < 15; ++i) {
    EXPECT_TRUE(client.send(part)) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(becomes([&] { return !client.send(part); }));
  // Input after the request and before the end of its response.
  RawClient early(plain_server().port());
  EXPECT_EQ(response_to(early, request_text("GET", "/health") + "GET /").status, 200);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(early.send("x")) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(early.closed());
}

TEST(Connection, ExpectsOnlyContinue) {
  const std::string body = R"({"prompt":"the","max_tokens":3})",
                    head = kHead + fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n",
                                               body.size());
  RawClient client(plain_server().port());
  client.send(head + "Expect: 100-Continue\r\n\r\n");
  EXPECT_TRUE(client.read_until("HTTP/1.1 100 Continue\r\n\r\n"));
  client.send(body);
  EXPECT_TRUE(client.read_until("HTTP/1.1 200 OK\r\n"));
  const Reply other = response_to(head + "Expect: 200-ok\r\n\r\n");
  EXPECT_EQ(other.status, 417);
  EXPECT_EQ(other.json(), (Json{{"error", "expected 100-continue in Expect"}, {"kind", "usage"}}));
  EXPECT_EQ(response_to("GET /health HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n").status, 421)
      << "no body to wait for";
}

TEST(Connection, RefusalsAreNamed) {
  const auto error = [](const std::string& bytes) { return response_to(bytes).json()["error"]; };
  EXPECT_EQ(error("GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "the request target is malformed");
  EXPECT_EQ(error("GET / HTTP/1.1\r\n\r\n"), "expected a Host field, found none");
  EXPECT_EQ(error("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n"), "the header exceeds 8192 bytes");
  EXPECT_EQ(error(kHead + "Content-Length: 1048577\r\n\r\n"), "the body exceeds 1048576 bytes");
  EXPECT_EQ(error(kHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").get<std::string>().substr(0, 32),
            "the body is not valid HTTP/1.1: ");
  EXPECT_EQ(error("\x16\x03\x01\r\n\r\n").get<std::string>().substr(0, 35),
            "the request is not valid HTTP/1.1: ");
  const Reply wrong = response_to(request_text("DELETE", "/v1/models"));
  EXPECT_EQ(wrong.json(), (Json{{"error",
                                 {{"message", "this path does not support the method DELETE"},
                                  {"type", "invalid_request_error"},
                                  {"param", nullptr},
                                  {"code", nullptr}}}}));
  EXPECT_EQ(wrong.fields.at("allow"), "GET, HEAD");
  EXPECT_EQ(error(request_text("GET", "/none")), "there is no such path; /openapi.json lists all paths");
  EXPECT_EQ(response_to(request_text("GET", "/models/")).status, 404) << "no name";
  EXPECT_EQ(error(request_text("POST", "/generate", "{}", "text/plain; charset=x")),
            "expected a body of type application/json, found \"text/plain\"");
  EXPECT_EQ(error(request_text("POST", "/translate_file", "{}")),
            "expected a body of type multipart/form-data, found \"application/json\"");
  EXPECT_EQ(error("POST /generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"),
            "expected a body of type application/json, found no Content-Type");
  EXPECT_EQ(error(request_text("POST", "/generate", "{}", "application/json", "Content-Encoding: gzip\r\n")),
            "expected a body without Content-Encoding, found \"gzip\"");
  EXPECT_EQ(error(request_text("POST", "/generate", R"({"beam":0})", "application/vnd.x+json ; a=b",
                               "Content-Encoding: Identity\r\n")),
            "beam: expected at least 1, found 0");
}

TEST(Connection, OriginsAndHostsOfTheOptions) {
  const auto with = [](const std::string& method, const std::string& host, const std::string& origin) {
    return response_to(method + " /health HTTP/1.1\r\nConnection: close\r\nHost: " + host + "\r\n" +
                       (origin.empty() ? "" : "Origin: " + origin + "\r\n") + "\r\n");
  };
  const Reply page = with("GET", "served.example:80", "http://page.example");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.fields.at("access-control-allow-origin"), "http://page.example");
  EXPECT_EQ(page.fields.at("vary"), "Origin");
  EXPECT_FALSE(with("GET", "localhost", "").fields.contains("access-control-allow-origin"));
  const Reply before = with("OPTIONS", "localhost", "http://page.example");
  EXPECT_EQ(before.status, 204);
  EXPECT_EQ(before.fields.at("access-control-allow-origin"), "http://page.example");
  EXPECT_EQ(before.fields.at("access-control-allow-methods"), "GET, POST");
  EXPECT_EQ(before.fields.at("access-control-allow-headers"), "Authorization, Content-Type, X-API-Key");
  EXPECT_EQ(before.fields.at("access-control-max-age"), "600");
  EXPECT_EQ(with("OPTIONS", "localhost", "http://other.example").json()["error"],
            "web pages of this origin may not use the server; allow it with --cors");
  EXPECT_EQ(with("OPTIONS", "localhost", "").status, 405);
  EXPECT_EQ(with("GET", "other.example", "").json()["error"],
            "the server does not accept this name in the field Host; allow it with --allow-host");
}

// One request runs, and one client may fill three quarters of the queue.
TEST(Connection, OneClientFillsAPartOfTheQueue) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.in_progress = 1, options.queue = 4;
  options.api_keys = write_file(folder.path(), "keys", "aaaaaaaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbbbbbbb\n");
  TestServer server(options, {"gpt"});
  const std::string key_a = "X-API-Key: aaaaaaaaaaaaaaaaaaaa\r\n",
                    key_b = "X-API-Key: bbbbbbbbbbbbbbbbbbbb\r\n";
  const Json many{{"prompt", std::vector<std::string>(250, "the")}, {"max_tokens", 200}};
  const auto& in_progress = server.service().metrics().in_progress;
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto send = [&](const std::string& key) -> RawClient& {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send(request_text("POST", "/v1/completions", many.dump(), "application/json", key));
    return *clients.back();
  };
  for (int i = 0; i < 4; ++i) send(key_a);
  ASSERT_TRUE(becomes([&] { return in_progress == 4; })) << "one runs and three wait";
  const Reply refused = send(key_a).read();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.fields.at("retry-after"), "1");
  EXPECT_EQ(refused.json()["error"], (Json{{"message", "too many requests are waiting"},
                                           {"type", "rate_limit_error"},
                                           {"param", nullptr},
                                           {"code", "queue_full"}}));
  EXPECT_EQ(server.service().metrics().refused, 1u);
  send(key_b);
  EXPECT_TRUE(becomes([&] { return in_progress == 5; })) << "another client has a place";
  for (auto& client : clients) client->reset();
  EXPECT_TRUE(becomes([&] { return in_progress == 0; }));
}

// One heavy request of a client runs, and half of the queue may wait.
TEST(Connection, HeavyRequestsFillHalfOfTheQueue) {
  serve::ServeOptions options = serve_options();
  options.in_progress = 4, options.queue = 4;
  TestServer server(options, {"gpt"});
  const Json heavy{{"model", "gpt"},
                   {"prompt", std::vector<std::string>(250, "the")},
                   {"max_tokens", 200},
                   {"interventions", {"scale decoder.0.0 by=0.5"}}};
  const auto& in_progress = server.service().metrics().in_progress;
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto& refused = server.service().metrics().refused;
  // The four requests reach the queue in any order.
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send(request_text("POST", "/v1/completions", heavy.dump()));
  }
  ASSERT_TRUE(becomes([&] { return refused == 1 && in_progress == 3; })) << "one runs and two wait";
  EXPECT_EQ(server.post("/v1/completions", heavy).status, 429);
  EXPECT_EQ(refused, 2u);
  for (auto& client : clients) client->reset();
  EXPECT_TRUE(becomes([&] { return in_progress == 0; }));
}

// If the server closes the connections, their requests are logged with 503.
TEST(Connection, LogsRequestsThatTheEndInterrupts) {
  const TemporaryFolder folder;
  serve::ServeOptions options = serve_options();
  options.drain = std::chrono::seconds(0), options.access_log = (folder / "log").string();
  TestServer server(options, {"gpt"});
  RawClient busy(server.port());
  const Json many{{"prompt", std::vector<std::string>(250, "the")}, {"max_tokens", 200}};
  busy.send(request_text("POST", "/v1/completions", many.dump()));
  ASSERT_TRUE(becomes([&] { return server.service().metrics().in_progress == 1; }));
  EXPECT_FALSE(server.service().stop());
  EXPECT_EQ(server.service().metrics().in_progress, 0);
  const Json line = Json::parse(lines_of(read_file((folder / "log").string())).at(0));
  EXPECT_EQ(line["status"], 503);
  EXPECT_EQ(line["path"], "/v1/completions");
  EXPECT_EQ(line["bytes"], 0);
}

}  // namespace
}  // namespace regard::testing
