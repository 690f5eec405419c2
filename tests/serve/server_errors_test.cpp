// Errors, busy servers and credentials of commands with --server, against a server with scripted responses.
#include <fmt/format.h>

#include <thread>
#include <tuple>

#include "base/json.h"
#include "support/local_listener.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

std::string response(const std::string& status, const std::string& body, const std::string& fields = "") {
  return "HTTP/1.1 " + status + "\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// A server that accepts one connection, gives these responses to its requests, and then closes it.
class ScriptedServer {
 public:
  explicit ScriptedServer(const std::vector<std::string>& responses) {
    thread_ = std::thread([this, responses] {
      const int client = listener_.accept();
      for (const std::string& one : responses) {
        if (!read_request(client)) break;
        (void)::send(client, one.data(), one.size(), MSG_NOSIGNAL);
      }
      ::close(client);
    });
  }
  ~ScriptedServer() { stop(); }
  // Return the requests received so far, and stop the server.
  const std::vector<std::string>& requests() {
    stop();
    return requests_;
  }
  std::string url() const { return listener_.url(); }
  const std::string& port() const { return listener_.port(); }

 private:
  void stop() {
    listener_.stop();
    if (thread_.joinable()) thread_.join();
  }
  // Read a request with a body of the given Content-Length. Returns false at the end of the connection.
  bool read_request(int client) {
    std::string text;
    char byte = 0;
    std::size_t end = text.npos, whole = text.npos;
    while (text.size() < whole) {
      if (::recv(client, &byte, 1, 0) != 1) return false;
      text += byte;
      if (whole != text.npos || !text.ends_with("\r\n\r\n")) continue;
      end = text.size();
      whole = end + std::stoul(text.substr(text.find("Content-Length: ") + 16));
    }
    requests_.push_back(text);
    return true;
  }
  LocalListener listener_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

class ServerErrors : public ::testing::Test {
 protected:
  ProgramResult translate(const std::string& url, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"translate", "x", "--server", url};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, folder_.path(), "a\n");
  }
  // Expect an error of this text and exit code after one response.
  void expect_error(const std::string& status, const std::string& body, int code,
                    const std::string& message) const {
    ScriptedServer server({response(status, body)});
    const ProgramResult result = translate(server.url());
    EXPECT_EQ(result.exit_code, code) << status << body.substr(0, 99) << result.err;
    EXPECT_EQ(result.out, "") << status;
    EXPECT_EQ(result.err, "regard: " + message + "\n");
    EXPECT_EQ(server.requests().size(), 1u);
  }
  TemporaryFolder folder_;
  const std::string answer_ = R"({"results": [[{"text": "A", "score": -1.5, "tokens": [7]}]]})";
};

// The message of an error body is shown whatever its form, and a body without one is truncated to 500 bytes.
TEST_F(ServerErrors, ShowTheMessageOfTheServer) {
  const std::string refused = "the server refused the request: ";
  expect_error("400 Bad Request", R"({"error": "no such model"})", 2, refused + "no such model");
  expect_error("400 Bad Request", R"({"error": {"message": "too long", "code": 3}})", 2,
               refused + "too long");
  expect_error("400 Bad Request", R"({"error": {"code": 3}})", 2, refused);
  expect_error("404 Not Found", "<html>nothing</html>", 2, refused + "<html>nothing</html>");
  expect_error("404 Not Found", R"({"detail": "x"})", 2, refused + R"({"detail": "x"})");
  expect_error("404 Not Found", "[1]", 2, refused + "[1]");
  expect_error("404 Not Found", std::string(501, 'a'), 2, refused + std::string(500, 'a'));
  const std::string key = ". Give the server's API key with --server-key";
  expect_error("401 Unauthorized", R"({"error": "no key"})", 2, refused + "no key" + key);
  expect_error("403 Forbidden", R"({"error": "wrong key"})", 2, refused + "wrong key" + key);
  const std::string url = "http://127.0.0.1:";
  for (const auto& [status, number] : {std::pair("500 Internal Server Error", "500"), {"302 Found", "302"}}) {
    ScriptedServer server({response(status, "broken")});
    const ProgramResult result = translate(server.url());
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_EQ(result.err,
              "regard: " + server.url() + ": the server failed: broken (found status " + number + ")\n");
  }
}

// The kind of an error, and so the exit code, is the one that the response names.
TEST_F(ServerErrors, HaveTheKindThatTheResponseNames) {
  const auto code = [&](const std::string& status, const std::string& kind) {
    ScriptedServer server({response(status, "{\"error\": \"e\"" + kind + "}")});
    return translate(server.url()).exit_code;
  };
  EXPECT_EQ(code("400 Bad Request", R"(, "kind": "resource_exhausted")"), 1);
  EXPECT_EQ(code("400 Bad Request", R"(, "kind": "usage")"), 2);
  EXPECT_EQ(code("400 Bad Request", R"(, "kind": 7)"), 2);
  EXPECT_EQ(code("413 Payload Too Large", R"(, "kind": "usage")"), 2);
  // An error of the input belongs to a line: the line is sent again alone.
  const std::string bad = response("400 Bad Request", R"({"error": "e", "kind": "invalid_input"})");
  ScriptedServer server({bad, bad});
  const ProgramResult result = translate(server.url());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err, "regard: standard input:1: the server refused the request: e\n");
  EXPECT_EQ(server.requests().size(), 2u);
  ScriptedServer proxy(
      {response("413 Payload Too Large", "large"), response("413 Payload Too Large", "large")});
  EXPECT_EQ(translate(proxy.url()).exit_code, 3);
  EXPECT_EQ(proxy.requests().size(), 2u);
}

TEST_F(ServerErrors, ABusyServerIsAskedAgain) {
  ScriptedServer server({response("429 Too Many Requests", "busy", "Retry-After: 0\r\n"),
                         response("503 Service Unavailable", "loading", "retry-after:   0\r\n"),
                         response("200 OK", answer_)});
  const ProgramResult result = translate(server.url());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "A\n");
  ASSERT_EQ(server.requests().size(), 3u);
  EXPECT_EQ(server.requests()[1], server.requests()[0]);
  EXPECT_EQ(server.requests()[2], server.requests()[0]);
}

// A request is sent at most 61 times.
TEST_F(ServerErrors, AServerThatStaysBusyFails) {
  ScriptedServer server(
      std::vector<std::string>(61, response("429 Too Many Requests", "busy", "Retry-After: 0\r\n")));
  const ProgramResult result = translate(server.url());
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.err, "regard: " + server.url() + ": the server failed: busy (found status 429)\n");
  EXPECT_EQ(server.requests().size(), 61u);
}

TEST_F(ServerErrors, RequestsHaveTheHostThePathAndTheKey) {
  const auto head = [&](const std::string& path, const std::vector<std::string>& more) {
    ScriptedServer server({response("200 OK", answer_)});
    const ProgramResult result = translate(server.url() + path, more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    if (server.requests().size() != 1) return std::string("no request");
    std::string text = server.requests()[0];
    text.replace(text.find(server.port()), server.port().size(), "PORT");
    return text.substr(0, text.find("Content-Length"));
  };
  const std::string rest = " HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(head("", {}), "POST /generate" + rest);
  EXPECT_EQ(head("//", {}), "POST /generate" + rest);
  EXPECT_EQ(head("/models/", {}), "POST /models/generate" + rest);
  write_file(folder_.path(), "key", "secret\r\nanother line\n");
  ScriptedServer server({response("200 OK", answer_)});
  EXPECT_EQ(translate(server.url(), {"--server-key", "key"}).exit_code, 0);
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_NE(server.requests()[0].find("\r\nAuthorization: Bearer secret\r\n\r\n{"), std::string::npos)
      << server.requests()[0];
}

// A conversation is a user's message, a list of messages, or a file with either.
TEST_F(ServerErrors, ConversationsAreSentAsMessages) {
  const auto sent = [&](const std::vector<std::string>& more, const std::string& input = "") {
    ScriptedServer server({response("200 OK", answer_)});
    std::vector<std::string> arguments{"generate", "x", "--server", server.url(), "--chat"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run_program(arguments, folder_.path(), input);
    EXPECT_EQ(result.out, "A\n") << result.err;
    if (server.requests().size() != 1) return Json();
    const std::string text = server.requests()[0];
    return parse_json(text.substr(text.find("\r\n\r\n") + 4), "request")["messages"];
  };
  const auto message = [](const char* role, const char* content) {
    return Json{{"role", role}, {"content", content}};
  };
  const Json user = message("user", "a b"), system = message("system", "be kind");
  const std::string list = R"( [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}])";
  const Json two{user, message("assistant", "c")};
  write_file(folder_.path(), "chat.json", "\xEF\xBB\xBF" + list);
  write_file(folder_.path(), "text.json", "a b\n\n");
  EXPECT_EQ(sent({"a b\n"}), Json::array({user}));
  EXPECT_EQ(sent({"-"}, "a b\n"), Json::array({user}));
  EXPECT_EQ(sent({"text.json"}), Json::array({user}));
  EXPECT_EQ(sent({list}), two);
  EXPECT_EQ(sent({"-"}, "\t\r\n" + list), two);
  EXPECT_EQ(sent({"chat.json"}), two);
  EXPECT_EQ(sent({"a b", "--system", "be kind"}), Json::array({system, user}));
  EXPECT_EQ(sent({"chat.json", "--system", "be kind"}), Json::array({system, two[0], two[1]}));
}

TEST_F(ServerErrors, APromptIsPrintedBeforeItsContinuation) {
  const auto generate = [&](const std::string& body, const std::vector<std::string>& more = {}) {
    ScriptedServer server({response("200 OK", body)});
    std::vector<std::string> arguments{"generate", "x", "--server", server.url(), "--prompt", "p"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, folder_.path());
  };
  const std::string one = R"([{"text": "A", "score": -1.5, "tokens": [7]}])";
  const std::string two =
      R"([{"text": "A", "score": -1.5, "tokens": [7]}, {"text": "b\nc", "score": -2, "tokens": [7]}])";
  EXPECT_EQ(generate(R"({"results": [)" + one + "]}").out, "pA\n");
  EXPECT_EQ(generate(R"({"continuation": true, "results": [)" + one + "]}").out, "pA\n");
  EXPECT_EQ(generate(R"({"continuation": false, "results": [)" + one + "]}").out, "A\n");
  EXPECT_EQ(generate(R"({"results": [)" + two + "]}").out, "0 ||| A ||| -1.5000\n0 ||| b\\nc ||| -2.0000\n");
  EXPECT_EQ(parse_json(generate(R"({"results": [)" + one + "]}", {"--json"}).out, "stdout"),
            Json({{"output", "A"}, {"score", -1.5}, {"hypotheses", parse_json(one, "one")}}));
  const ProgramResult none = generate(R"({"results": [[]]})");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_EQ(none.err, "regard: the prompt has no tokens. Give a prompt of at least one character\n");
  EXPECT_EQ(generate(R"({"results": [)" + one + "," + one + "]}").exit_code, 4);
}

TEST_F(ServerErrors, AResponseMayHaveChunks) {
  const std::string head = "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n";
  std::string chunks;
  for (const std::size_t begin : {std::size_t{0}, std::size_t{10}}) {
    const std::string part = answer_.substr(begin, begin == 0 ? 10 : answer_.npos);
    chunks += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  }
  ScriptedServer server({head + chunks + "0\r\n\r\n"});
  const ProgramResult result = translate(server.url());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "A\n");
}

// A vector must have the size that the server states. Sizes and numbers of tokens must be in range.
TEST_F(ServerErrors, VectorsHaveTheAnnouncedSize) {
  const auto embed = [&](const std::string& about, const std::string& vector,
                         const std::vector<std::string>& more) {
    ScriptedServer server({response("200 OK", about), response("200 OK", vector),
                           response("200 OK", R"({"results": [{"embedding": [1, 2], "tokens": 1,
                                                               "truncated": false}]})")});
    std::vector<std::string> arguments{"embed", "x", "--server", server.url()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ProgramResult result = run_program(arguments, folder_.path(), more[0] == "--json" ? "a\n" : "a\nb\n");
    if (const std::size_t at = result.err.find(server.url()); at != result.err.npos)
      result.err.replace(at, server.url().size(), "URL");
    return result;
  };
  const auto about = [](const std::string& size, const std::string& product) {
    return R"({"dimensions": )" + size + R"(, "max_tokens": 5, "dot_product": )" + product + "}";
  };
  const auto vector = [](const std::string& numbers, const std::string& tokens) {
    return R"({"results": [{"embedding": )" + numbers + R"(, "tokens": )" + tokens +
           R"(, "truncated": true}]})";
  };
  const ProgramResult whole = embed(about("2", "false"), vector("[3, 4]", "16777216"), {"--json"});
  EXPECT_EQ(whole.exit_code, 0);
  EXPECT_EQ(whole.out,
            "{\"line\":1,\"input\":\"a\",\"tokens\":16777216,\"truncated\":true,\"embedding\":[3,4]}\n");
  EXPECT_EQ(whole.err, "regard: 1 text truncated to 5 tokens\n");
  EXPECT_EQ(embed(about("2", "false"), vector("[3, 4]", "1"), {"--similarity"}).out,
            "1.0000\t0.9839\n0.9839\t1.0000\n");
  EXPECT_EQ(embed(about("2", "true"), vector("[3, 4]", "1"), {"--similarity"}).out,
            "25.0000\t11.0000\n11.0000\t5.0000\n");
  for (const auto& [size, numbers, tokens] : {std::tuple("2", "[3, 4]", "-1"),
                                              {"2", "[3, 4]", "16777217"},
                                              {"2", "[3]", "1"},
                                              {"2", "[3, 4, 5]", "1"},
                                              {"0", "[]", "1"},
                                              {"16777217", "[3]", "1"}}) {
    const ProgramResult wrong = embed(about(size, "false"), vector(numbers, tokens), {"--json"});
    EXPECT_EQ(wrong.exit_code, 4) << size << numbers << tokens;
    EXPECT_EQ(wrong.out, "");
    EXPECT_TRUE(wrong.err.ends_with("the server's response is malformed\n")) << wrong.err;
  }
}

TEST_F(ServerErrors, AMalformedUrlIsRefused) {
  for (const char* url :
       {"127.0.0.1:1", "ftp://127.0.0.1:1", "http://", "http://:1", "http://127.0.0.1:", "http://127.0.0.1:x",
        "http://127.0.0.1:1 ", "http://[::1", "http://127.0.0.1:1/a b"}) {
    const ProgramResult result = translate(url);
    EXPECT_EQ(result.exit_code, 2) << url;
    EXPECT_EQ(result.err, std::string("regard: the URL of --server is malformed (expected http://HOST:PORT, "
                                      "found \"") +
                              url + "\")\n");
  }
  EXPECT_EQ(translate("http://127.0.0.1:1").exit_code, 4);
  EXPECT_EQ(translate("http://[::1]:1").exit_code, 4) << "an address, to which nothing is bound";
}

}  // namespace
}  // namespace regard::testing
