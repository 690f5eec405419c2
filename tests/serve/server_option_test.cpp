// With --server, commands print the same output as with the model folder.
#include <sstream>
#include <thread>
#include <tuple>

#include "support/local_listener.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

class ServerOption : public ::testing::Test {
 protected:
  static TestServer& served() {
    static TestServer only(serve_options(), {"gpt", "translator", "embed", "nli"});
    return only;
  }
  static std::string url() { return "http://127.0.0.1:" + std::to_string(served().port()); }

  using Words = std::vector<std::string>;

  static ProgramResult run(const Words& words, const std::string& input) {
    static const TemporaryFolder folder;
    return run_program(words, folder.path(), input);
  }
  // Run the command `verb` with the folder and with the server, and expect the same result. `rest`: the other
  // arguments.
  static void expect_same(const std::string& verb, const std::string& model, const Words& rest,
                          const std::string& input) {
    Words here{verb, TestServer::folder(model), "-q"}, there{verb, model, "-q", "--server", url()};
    here.insert(here.end(), rest.begin(), rest.end());
    there.insert(there.end(), rest.begin(), rest.end());
    const ProgramResult local = run(here, input), remote = run(there, input);
    EXPECT_EQ(remote.out, local.out) << verb << " " << Json(rest) << "\n" << remote.err;
    EXPECT_EQ(remote.exit_code, local.exit_code) << verb << " " << Json(rest) << "\n"
                                                 << local.err << remote.err;
  }
};

const char* const kLines = "the quick brown fox\n\nlazy dog. The river. A bank\nthe dog\n";

TEST_F(ServerOption, TranslatePrintsTheSame) {
  for (const Words& rest : std::vector<Words>{Words{},
                                              {"--json"},
                                              {"--beam", "3", "--n-best", "2"},
                                              {"--beam", "2", "--json", "--log-probabilities"},
                                              {"--sentences"},
                                              {"--sentences", "--json"},
                                              {"--max-new", "5"},
                                              {"--length-penalty", "0.5", "--beam", "4"},
                                              {"--intervene", "zero cross.0.0"},
                                              {"--stop", "e"}})
    expect_same("translate", "translator", rest, kLines);
}

TEST_F(ServerOption, GeneratePrintsTheSame) {
  for (const Words& rest : std::vector<Words>{
           {"--max-new", "8"},
           {"--max-new", "8", "--sample", "--seed", "7", "--temperature", "0.8", "--top-k", "9"},
           {"--max-new", "6", "--n-best", "2"},
           {"--max-new", "6", "--json", "--no-repeat-ngram", "2"},
           {"--prompt", "the quick", "--max-new", "9"},
           {"--prompt", "the quick", "--max-new", "9", "--json", "--n-best", "2", "--sample"}})
    expect_same("generate", "gpt", rest, kLines);
  expect_same("generate", "gpt", {"--max-new", "8"}, "one line only\n");
  expect_same("generate", "translator", {"--prompt", "the dog", "--max-new", "8"}, "");
}

// Without --n-best, the model's folder sets the number of results.
TEST_F(ServerOption, TheFolderSetsTheNumberOfResults) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "several").string();
  write_text_model(path, "translator");
  Json settings = read_json(path + "/generation_config.json");
  settings["num_beams"] = 3, settings["num_return_sequences"] = 2;
  write_file(path, "generation_config.json", settings.dump());
  serve::ServeOptions options = serve_options();
  options.folders.push_back({"several", path});
  TestServer server(std::move(options), {"gpt"});
  const std::string address = "http://127.0.0.1:" + std::to_string(server.port());
  for (const Words& rest : std::vector<Words>{{"translate"},
                                              {"translate", "--json"},
                                              {"translate", "--sentences"},
                                              {"translate", "--n-best", "1"},
                                              {"generate", "--prompt", "the dog"}}) {
    Words here{rest[0], path, "-q", "--max-new", "6"};
    Words there{rest[0], "several", "-q", "--max-new", "6", "--server", address};
    for (Words* words : {&here, &there}) words->insert(words->end(), rest.begin() + 1, rest.end());
    const ProgramResult local = run(here, "the dog. A fox.\n\n"), remote = run(there, "the dog. A fox.\n\n");
    EXPECT_EQ(local.exit_code, 0) << local.err;
    EXPECT_EQ(remote.out, local.out) << Json(rest) << "\n" << remote.err;
  }
}

TEST_F(ServerOption, EmbedAndClassifyPrintTheSame) {
  for (const Words& rest : std::vector<Words>{Words{},
                                              {"--json"},
                                              {"--similarity"},
                                              {"--query", "dog", "--top", "2"},
                                              {"--truncate"},
                                              {"--intervene", "zero encoder.0.0"}})
    expect_same("embed", "embed", rest, "a river\nthe dog\na bank\n");
  for (const Words& rest : std::vector<Words>{Words{},
                                              {"--json", "--top", "0"},
                                              {"--scores", "sigmoid", "--top", "0"},
                                              {"--scores", "none", "--json"},
                                              {"--threshold", "0.1"}})
    expect_same("classify", "nli", rest, "a river\nthe dog\n");
  expect_same("classify", "nli", {"--pair"}, "a river\tthe dog\n");
}

// Return the lines of `text` with a warning.
std::string warnings_of(const std::string& text) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.find("warning") != line.npos) found += line + "\n";
  return found;
}

TEST_F(ServerOption, PrintsTheSameWarningsOfInterventions) {
  const std::string input = "the\nthe quick brown fox\n\n";  // only the second line has a token at position 3
  for (const auto& [verb, model, place] :
       {std::tuple("translate", "translator", "encoder.0.0"), std::tuple("generate", "gpt", "decoder.0.0"),
        std::tuple("embed", "embed", "encoder.0.0"), std::tuple("classify", "nli", "encoder.0.0")})
    for (const int position : {3, 60}) {
      const Words rest{"--intervene",
                       std::string("zero ") + place + " positions=" + std::to_string(position)};
      const std::string lines = verb == std::string("classify") ? input.substr(0, input.size() - 1) : input;
      Words here{verb, TestServer::folder(model)}, there{verb, model, "--server", url()};
      for (Words* words : {&here, &there}) {
        words->insert(words->end(), rest.begin(), rest.end());
        if (verb == std::string("generate")) words->insert(words->end(), {"--max-new", "4"});
      }
      const ProgramResult local = run(here, lines), remote = run(there, lines);
      EXPECT_EQ(remote.exit_code, 0) << verb << remote.err;
      EXPECT_EQ(warnings_of(remote.err), warnings_of(local.err)) << verb;
      EXPECT_EQ(warnings_of(local.err).empty(), position == 3) << verb << local.err;
    }
}

TEST_F(ServerOption, ErrorsNameTheLineOrTheOption) {
  const auto refused = [](Words words) { return run(words, "hello\n").err; };
  EXPECT_NE(refused({"translate", "x", "--server", "https://localhost"}).find("http://HOST:PORT"),
            std::string::npos);
  EXPECT_NE(
      refused({"translate", "x", "--server", "http://127.0.0.1:1"}).find("Check that the server is running"),
      std::string::npos);
  EXPECT_NE(refused({"translate", "none", "--server", url()}).find("\"none\""), std::string::npos);
  EXPECT_NE(refused({"embed", "embed", "--pooling", "cls", "--server", url()}).find("--pooling"),
            std::string::npos);
  EXPECT_NE(refused({"generate", "gpt", "--set", "beam=2", "--server", url()}).find("--set"),
            std::string::npos);
  expect_same("translate", "translator", {}, "the dog\n\xFF\nthe fox\n");
  expect_same("generate", "gpt", {"--max-new", "4"}, "the dog\n\xFF\n");
  // The line `longest` has more tokens than the model has positions.
  std::string longest = "the ";
  for (int i = 0; i < 9; ++i) longest += longest;
  expect_same("generate", "gpt", {"--max-new", "4"}, "the\n" + longest + "\n");
  expect_same("generate", "gpt", {"--max-new", "4", "--skip-bad"}, "the\n" + longest + "\nthe dog\n");
}

TEST_F(ServerOption, SkipBadEndsAtOnceOnAWrongOption) {
  for (const Words& wrong : std::vector<Words>{{"translate", "translator", "--beam", "2", "--sample"},
                                               {"translate", "translator", "--intervene", "zero cross.9.0"},
                                               {"generate", "gpt", "--max-new", "99999"},
                                               {"generate", "gpt", "--beam", "60"},
                                               {"embed", "embed", "--intervene", "zero encoder.9.0"},
                                               {"classify", "nli", "--intervene", "zero encoder.9.0"},
                                               {"translate", "none"}}) {
    Words words = wrong;
    words.insert(words.end(), {"--skip-bad", "--server", url()});
    const ProgramResult result = run(words, "the\nthe dog\na bank\n");
    EXPECT_EQ(result.out, "") << Json(wrong);
    EXPECT_NE(result.exit_code, 0) << Json(wrong);
    EXPECT_EQ(result.err.find("skipped"), std::string::npos) << result.err;
  }
}

TEST_F(ServerOption, GenerateNeedsInputsOrMessages) {
  const Reply reply = served().post("/generate", {{"model", "gpt"}});
  EXPECT_EQ(reply.status, 400) << reply.body;
}

// A server that gives the same response to every request.
class WrongServer {
 public:
  explicit WrongServer(const std::string& response) {
    thread_ = std::thread([this, response] {
      const int client = listener_.accept();
      char bytes[4096];
      (void)::recv(client, bytes, sizeof bytes, 0);
      (void)::send(client, response.data(), response.size(), MSG_NOSIGNAL);
      ::shutdown(client, SHUT_WR);
      while (::recv(client, bytes, sizeof bytes, 0) > 0) {
      }
      ::close(client);
    });
  }
  ~WrongServer() {
    listener_.stop();
    thread_.join();
  }
  std::string url() const { return listener_.url(); }

 private:
  LocalListener listener_;
  std::thread thread_;
};

TEST_F(ServerOption, MalformedResponsesAreErrorsOfTheServer) {
  const auto expect_io = [](const Words& verb, const std::string& response) {
    const WrongServer server(response);
    Words words = verb;
    words.insert(words.end(), {"--server", server.url()});
    const ProgramResult result = run(words, "a\n");
    EXPECT_EQ(result.exit_code, 4) << response.substr(0, 200) << "\n" << result.err;
    EXPECT_EQ(result.out, "") << response.substr(0, 200);
  };
  const auto whole = [](const std::string& body, const std::string& status = "200 OK") {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  for (const char* body : {"", "[]", "{}", "no", R"({"results": []})", R"({"results": [[{"text": 1}]]})",
                           R"({"results": {"a": []}})", R"({"results": [{"text": "a", "score": 1}]})"})
    expect_io({"translate", "x"}, whole(body));
  // The response has more scores than labels.
  expect_io({"classify", "x"},
            whole(R"({"labels": ["a"], "results": [{"truncated": false, "scores": [0.1, 0.2, 0.3]}]})"));
  expect_io({"embed", "x"}, whole(R"({"dimensions": -1, "max_tokens": 0, "dot_product": false})"));
  expect_io({"translate", "x"}, whole(R"({"error": {"message": 3}})", "500 Internal Server Error"));
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  expect_io({"translate", "x"}, chunked + "1\r\n{\r\nffffffffffffffff\r\n");
  expect_io({"translate", "x"}, chunked + std::string(200000, '1'));
  expect_io({"translate", "x"}, "HTTP/1.1 200 OK\r\n" + std::string(200000, 'a'));
}

// The server closes the connection after a part of its response.
TEST_F(ServerOption, ResponsesThatEndEarlyAreErrorsOfTheServer) {
  const std::string head = "HTTP/1.1 200 OK\r\n", chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  const char *const none = "closed the connection without a response",
                    *const part = "closed the connection before the end of its response";
  for (const auto& [response, message] : {std::pair(std::string(), none),
                                          {head, none},
                                          {head + "Content-Length: 3\r\n\r\n", part},
                                          {head + "Content-Length: 3\r\n\r\n[]", part},
                                          {chunked, part},
                                          {chunked + "2\r", part},
                                          {chunked + "2\r\n[]", part},
                                          {chunked + "2\r\n[]\r\n", part},
                                          {chunked + "2\r\n[]\r\n0\r\n", part}}) {
    const WrongServer server(response);
    const ProgramResult result = run({"translate", "x", "--server", server.url()}, "a\n");
    EXPECT_EQ(result.exit_code, 4) << response << "\n" << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << response << "\n" << result.err;
  }
}

}  // namespace
}  // namespace regard::testing
