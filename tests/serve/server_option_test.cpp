// --server: the verbs print what they print with the folder.
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
  // Run the verb with the folder and with the server; `rest`: the other arguments.
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

TEST_F(ServerOption, ErrorsNameTheLineOrTheOption) {
  const auto refused = [](Words words) { return run(words, "hello\n").err; };
  EXPECT_NE(refused({"translate", "x", "--server", "https://localhost"}).find("http://HOST:PORT"),
            std::string::npos);
  EXPECT_NE(refused({"translate", "x", "--server", "http://127.0.0.1:1"}).find("Is it running?"),
            std::string::npos);
  EXPECT_NE(refused({"translate", "none", "--server", url()}).find("\"none\""), std::string::npos);
  EXPECT_NE(refused({"embed", "embed", "--pooling", "cls", "--server", url()}).find("--pooling"),
            std::string::npos);
  EXPECT_NE(refused({"generate", "gpt", "--set", "beam=2", "--server", url()}).find("--set"),
            std::string::npos);
  // A line that the model cannot read.
  std::string longest = "the ";
  for (int i = 0; i < 9; ++i) longest += longest;
  expect_same("generate", "gpt", {"--max-new", "4"}, "the\n" + longest + "\n");
  expect_same("generate", "gpt", {"--max-new", "4", "--skip-bad"}, "the\n" + longest + "\nthe dog\n");
}

}  // namespace
}  // namespace regard::testing
