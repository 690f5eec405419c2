// regard explain, called as by a user: each source of tokens and vectors, compared with the library.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "base/json.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard {
namespace {

using testing::run_program;

std::map<std::string, Json> steps_of(const std::string& out) {
  std::map<std::string, Json> steps;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    const Json step = parse_json(line, "out");
    steps[step["step"]] = step;
  }
  return steps;
}

class ExplainProgram : public ::testing::Test {
 protected:
  testing::ProgramResult explain(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    return run_program(arguments, folder_.path());
  }
  // Compare the weights that explain computes for one head with those of `attend`.
  void expect_the_models_weights(const std::string& name, const std::string& kind) {
    testing::write_text_model(folder_ / name, name);
    const auto path = explain({"the quick fox", "--model", name, "--layer", "1", "--head", "1", "--json"});
    ASSERT_EQ(path.exit_code, 0) << path.err;
    const auto shown = run_program({"attend", name, "the quick fox", "--json", "--full"}, folder_.path());
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    const Json own = steps_of(path.out)["weights"]["value"];
    bool found = false;
    const Json all = parse_json(shown.out, "out");
    for (const Json& map : all["attention"]) {
      if (map["kind"] != kind || map["layer"] != 1 || map["head"] != 1) continue;
      found = true;
      ASSERT_EQ(own.size(), map["weights"].size());
      for (std::size_t r = 0; r < own.size(); ++r)
        for (std::size_t c = 0; c < own.size(); ++c)
          EXPECT_NEAR(own[r][c].get<double>(), map["weights"][r][c].get<double>(), 1e-5) << r << "," << c;
    }
    EXPECT_TRUE(found);
    const auto text = explain({"the quick fox", "--model", name, "--layer", "1", "--head", "1"});
    EXPECT_NE(text.out.find("The model's own attention weights agree"), std::string::npos) << text.out;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ExplainProgram, FollowsAHeadOfATranslator) {
  expect_the_models_weights("translator", "encoder");
}

TEST_F(ExplainProgram, FollowsAHeadOfALanguageModel) {
  expect_the_models_weights("gpt", "decoder");
}

// The queries and keys that explain shows include rotary positions and grouped keys.
TEST_F(ExplainProgram, FollowsAHeadWithRotaryPositions) {
  expect_the_models_weights("llama", "decoder");
}

TEST_F(ExplainProgram, TakesVectorsOfAFile) {
  testing::write_file(folder_.path(), "v.txt", "3 2\nmoney 1 0.5\nBank 0.25 -1\nriver 0 2\n");
  const auto result = explain({"Money Bank Tree", "--vectors", "v.txt", "--no-positions", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(steps_of(result.out)["vectors"]["value"], parse_json("[[1,0.5],[0.25,-1],[0,0]]", "expected"));
  const auto text = explain({"Money Bank Tree", "--vectors", "v.txt"});
  EXPECT_NE(text.out.find("'Tree' is not in the table"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("is in the table as 'money'"), std::string::npos) << text.out;
}

TEST_F(ExplainProgram, TakesTokensOfATokenizer) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  const auto result = explain({"the fox", "--tokenizer", "gpt/tokenizer.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(steps_of(result.out)["weights"]["rows"].size(), 7u) << "a character a token";
}

TEST_F(ExplainProgram, SaysOnceWhatItMadeUp) {
  const auto result = explain({"Money lorem ipsum"});
  EXPECT_NE(result.out.find("Not in the built-in table, random: 'lorem', 'ipsum'."), std::string::npos)
      << result.out;
}

TEST_F(ExplainProgram, SaysWhatIsNotThere) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  const auto layer = explain({"the", "--model", "gpt", "--layer", "9"});
  EXPECT_EQ(layer.exit_code, 2);
  EXPECT_NE(layer.err.find("decoder.9.self"), std::string::npos) << layer.err;
  EXPECT_EQ(explain({"the", "--model", "gpt", "--head", "77"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--model", "gpt", "--tokenizer", "gpt/tokenizer.json"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--vectors", "nowhere.txt"}).exit_code, 4);
}

}  // namespace
}  // namespace regard
