// regard attend, called as by a user: the beam search and the tokenizers in a capture.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "support/json_schema.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

using nlohmann::json;

const std::string kText = "the quick fox";

class AttendSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* kind : {"translator", "gpt"}) write_text_model(place_ / kind, kind);
  }

  ProgramResult run(const std::vector<std::string>& arguments, const std::string& input = "") const {
    return run_program(arguments, place_.path(), input);
  }

  json output(const std::vector<std::string>& arguments, const std::string& input = "") const {
    const ProgramResult result = run(arguments, input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  }

  json capture(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"attend", more[0], kText, "--json"};
    arguments.insert(arguments.end(), more.begin() + 1, more.end());
    const json found = output(arguments);
    static const json kSchema =
        json::parse(read_file((source_folder() / "docs/capture.schema.json").string()));
    const std::vector<std::string> violations = schema_violations(found, kSchema);
    EXPECT_TRUE(violations.empty()) << violations.front();
    return found;
  }

  // Compare the ranking of a beam search in a capture with hypotheses that another command printed with
  // --log-probabilities.
  static void expect_same(const json& beams, const json& hypotheses) {
    ASSERT_EQ(beams["ranking"].size(), hypotheses.size());
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
      const json& place = beams["ranking"][i];
      auto step = place["step"].get<std::size_t>();
      const json* node = &beams["steps"][step]["finished"][place["finished"].get<std::size_t>()];
      EXPECT_EQ((*node)["score"].get<float>(), hypotheses[i]["score"].get<float>());
      EXPECT_EQ((*node)["log_probability"].get<float>(), hypotheses[i]["log_probability"].get<float>());
      EXPECT_EQ((*node)["ended"], hypotheses[i]["ended"]);
      const json& pieces = hypotheses[i]["pieces"];
      ASSERT_EQ(pieces.size(), step + 1);
      for (std::size_t at = step + 1; at-- > 0;) {
        EXPECT_EQ((*node)["id"], pieces[at]["id"]) << "hypothesis " << i << ", token " << at;
        if (at > 0) node = &beams["steps"][at - 1]["kept"][(*node)["parent"].get<std::size_t>()];
      }
    }
  }

  TemporaryFolder place_;
};

TEST_F(AttendSearch, BeamsAreThoseOfTranslate) {
  const json beams = capture({"translator", "--beam", "3", "--generate", "9"})["beams"];
  EXPECT_EQ(beams["width"], 3);
  for (const json& step : beams["steps"]) {
    EXPECT_LE(step["kept"].size(), 3u);
    for (std::size_t i = 1; i < step["kept"].size(); ++i)
      EXPECT_GE(step["kept"][i - 1]["log_probability"], step["kept"][i]["log_probability"]);
  }
  const json line = output({"translate", "translator", "--beam", "3", "--n-best", "3", "--max-new", "9",
                            "--json", "--log-probabilities"},
                           kText + "\n");
  expect_same(beams, line["hypotheses"]);
}

TEST_F(AttendSearch, BeamsAreThoseOfGenerate) {
  const json found = capture({"gpt", "--beam", "4", "--generate", "6"});
  const json line = output(
      {"generate", "gpt", "--beam", "4", "--n-best", "4", "--max-new", "6", "--json", "--log-probabilities"},
      kText + "\n");
  expect_same(found["beams"], line["hypotheses"]);
  // The capture shows the text of the first hypothesis.
  const std::vector<std::int32_t> ids = found["tokens"]["target"]["ids"];
  const json& pieces = line["hypotheses"][0]["pieces"];
  ASSERT_GE(ids.size(), pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i)
    EXPECT_EQ(ids[ids.size() - pieces.size() + i], pieces[i]["id"]);
}

TEST_F(AttendSearch, GreedySearchAndGivenTargetsHaveNoBeams) {
  EXPECT_FALSE(capture({"translator", "--generate", "4"}).contains("beams"));
  EXPECT_FALSE(capture({"translator", "--target", "a dog"}).contains("beams"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"attend", "gpt", kText, "--beam", "2"},
        {"attend", "translator", kText, "--beam", "2", "--target", "a dog"}}) {
    const ProgramResult refused = run(arguments);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("--beam applies only to a text that the model generates"), std::string::npos);
  }
}

TEST_F(AttendSearch, TokenizersGiveTheIdsOfTheTokenizerCommand) {
  const json all = capture({"translator", "--tokenizer", "gpt", "--tokenizer", "gpt/tokenizer.json"});
  const json& rows = all["tokenizers"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["tokens"], all["tokens"]["source"]);
  const std::vector<std::string> names{"translator", "gpt", "gpt/tokenizer.json"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["name"], names[i]);
    const json encoded =
        output({"tokenizer", "encode", "-T", names[i], "--plain-text", "--json"}, kText + "\n");
    EXPECT_EQ(rows[i]["tokens"]["ids"], encoded["ids"]);
    for (std::size_t token = 0; token < encoded["ids"].size(); ++token) {
      EXPECT_EQ(rows[i]["begin"][token], encoded["offsets"][token][0]);
      EXPECT_EQ(rows[i]["end"][token], encoded["offsets"][token][1]);
    }
  }
  ProgramResult refused = run({"attend", "translator", kText, "--tokenizer", "gpt"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--tokenizer needs --html or --json"), std::string::npos);
  refused = run({"attend", "translator", kText, "--json", "--tokenizer", "nowhere"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace regard::testing
