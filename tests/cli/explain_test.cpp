// regard explain, called as by a user: each source of tokens and vectors, compared with the library.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "base/json.h"
#include "support/changed_model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
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
  // Compare the weights that `explain` computes for one head with the weights that `attend` shows.
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
  EXPECT_NE(text.out.find("'Tree' is not in the file"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("is in the file as 'money'"), std::string::npos) << text.out;
}

// The products of these vectors are infinite, so their softmax is not a number.
TEST_F(ExplainProgram, WritesNumbersThatAreNotFiniteAsText) {
  testing::write_file(folder_.path(), "v.txt", "2 2\na 3e38 3e38\nb 3e38 3e38\n");
  const auto result = explain({"a b", "--vectors", "v.txt", "--no-positions", "--no-projections", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, Json> steps = steps_of(result.out);
  EXPECT_EQ(steps["scores"]["value"], parse_json(R"([["inf","inf"],["inf","inf"]])", "expected"));
  EXPECT_EQ(steps["exponentials"]["value"], parse_json(R"([["nan","nan"],["nan","nan"]])", "expected"));
}

TEST_F(ExplainProgram, TakesTokensOfATokenizer) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  const auto result = explain({"the fox", "--tokenizer", "gpt/tokenizer.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(steps_of(result.out)["weights"]["rows"].size(), 7u) << "a character a token";
}

TEST_F(ExplainProgram, SaysOnceWhatItMadeUp) {
  const auto result = explain({"Money lorem ipsum lorem"});
  EXPECT_NE(result.out.find("Random vectors, because the table has no vector: 'lorem', 'ipsum'."),
            std::string::npos)
      << result.out;
  const auto invented = explain({"Money lorem ipsum", "--invented"});
  EXPECT_NE(invented.out.find("Random vectors, because the table has no vector: 'lorem', 'ipsum'."),
            std::string::npos)
      << invented.out;
}

TEST_F(ExplainProgram, CutsWordsAndSigns) {
  const auto result = explain({"What is the capital of France?", "--query", "france"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("7 tokens: [What] [is] [the] [capital] [of] [France] [?]\n"))
      << result.out;
  EXPECT_NE(result.out.find("has no vector: '?'."), std::string::npos)
      << "every word is in the table: " << result.out;
  EXPECT_NE(result.out.find("'France' (token 5)"), std::string::npos) << result.out;
  const auto one = explain({"Bank", "--query", "Bank"});
  EXPECT_NE(one.out.find("'Bank' (token 0) attends to 1 token\n"), std::string::npos) << one.out;
}

TEST_F(ExplainProgram, FindsVectorsByCaseAndSigns) {
  testing::write_file(folder_.path(), "v.txt", "2 2\nmoney 1 0.5\nBank 0.25 -1\n");
  const auto result = explain({"Money", "--vectors", "v.txt", "--no-positions", "--json"});
  EXPECT_EQ(steps_of(result.out)["vectors"]["value"], parse_json("[[1,0.5]]", "expected"));
  testing::write_text_model(folder_ / "gpt", "gpt");
  const auto token = explain({"Bank,", "--vectors", "v.txt", "--no-positions", "--json"});
  EXPECT_EQ(steps_of(token.out)["vectors"]["value"], parse_json("[[0.25,-1],[0,0]]", "expected"));
}

// With position vectors P, the formulas of the projections contain X + P instead of X.
TEST_F(ExplainProgram, NamesTheSumOfVectorsAndPositions) {
  const auto with = steps_of(explain({"Money Bank", "--json"}).out);
  EXPECT_EQ(with.at("queries")["formula"], "Q = (X + P) W_Q");
  EXPECT_EQ(with.at("values")["formula"], "V = (X + P) W_V");
  const auto plain = steps_of(explain({"Money Bank", "--json", "--no-positions"}).out);
  EXPECT_EQ(plain.at("queries")["formula"], "Q = X W_Q");
  const auto bare = steps_of(explain({"Money Bank", "--json", "--no-projections"}).out);
  EXPECT_EQ(bare.at("scores")["formula"], "(X + P)(X + P)ᵀ");
  EXPECT_EQ(bare.at("output")["formula"], "weights (X + P)");
  const Json& placed = bare.at("placed")["value"];
  double product = 0;
  for (std::size_t i = 0; i < placed[0].size(); ++i)
    product += placed[0][i].get<double>() * placed[1][i].get<double>();
  EXPECT_NEAR(bare.at("scores")["value"][0][1].get<double>(), product, 1e-4);
}

// The output for 500 words is limited, and complete with --full. More than 2048 tokens are refused before
// memory is allocated.
TEST_F(ExplainProgram, BoundsLongTexts) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "word" + std::to_string(i % 7) + " ";
  const auto shown = explain({text, "--query", "3"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_LT(shown.out.size(), 60000U);
  EXPECT_NE(shown.out.find("… 436 more"), std::string::npos);
  const auto json = explain({text, "--json"});
  EXPECT_LT(json.out.size(), 1000000U);
  const Json weights = steps_of(json.out)["weights"];
  EXPECT_EQ(weights["shape"], parse_json("[500,500]", "expected"));
  EXPECT_EQ(weights["shown"], parse_json("[64,64]", "expected"));
  EXPECT_EQ(weights["value"].size(), 64U);
  EXPECT_EQ(explain({text, "--svg", "-"}).exit_code, 3);
  std::string longer;
  for (int i = 0; i < 2049; ++i) longer += "a ";
  EXPECT_EQ(explain({longer}).exit_code, 3);
  EXPECT_EQ(explain({""}).exit_code, 3);
}

TEST_F(ExplainProgram, ShowsThePullOfTrainedVectors) {
  const auto wrong = explain({"Money Bank Grows", "--query", "9"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.out, "");
  const auto result = explain({"Money Bank Grows", "--query", "Bank"});
  EXPECT_NE(result.out.find("The projections above are random"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("  Bank: with Money 0."), std::string::npos) << result.out;
  EXPECT_EQ(explain({"Money Bank Grows", "--invented"}).out.find("are random, so"), std::string::npos);
}

TEST_F(ExplainProgram, ExplainsAWholeLayer) {
  testing::write_text_model(folder_ / "translator", "translator");
  const auto both =
      explain({"the quick fox", "--model", "translator", "--layer", "1", "--block", "--target", "fox"});
  ASSERT_EQ(both.exit_code, 0) << both.err;
  for (const char* part : {"layer 1 of the encoder", "layer 1 of the decoder", "self-attention",
                           "cross-attention", "feed-forward layer", "residual: x + a", "mean μ"})
    EXPECT_NE(both.out.find(part), std::string::npos) << part << "\n" << both.out;
  testing::write_text_model(folder_ / "gpt", "gpt");
  const auto one = explain({"the fox", "--model", "gpt", "--block", "--query", "2"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_NE(one.out.find("residual: x + f"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("agree to within"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("cross-attention"), std::string::npos);
  const auto beyond = explain({"the", "--model", "gpt", "--block", "--layer", "9"});
  EXPECT_EQ(beyond.exit_code, 2);
  EXPECT_NE(beyond.err.find("(expected a layer from 0 to 1, found 9)"), std::string::npos) << beyond.err;
  EXPECT_EQ(explain({"the", "--block"}).exit_code, 2);
}

// A pre-norm layer has a norm before each sublayer, a post-norm layer after each sum.
TEST_F(ExplainProgram, ShowsTheNormsOfALayerWhereTheyAre) {
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  testing::write_text_model(folder_ / "gpt", "gpt");
  const std::string pre = explain({"the fox", "--model", "gpt", "--block"}).out;
  EXPECT_EQ(count(pre, "mean μ"), 2u) << pre;
  EXPECT_EQ(count(pre, "input of the sublayer"), 1u) << pre;
  EXPECT_EQ(count(pre, "LN(LN(x) + f)"), 0u) << pre;
  const std::string post =
      explain({"Green and blue.", "--model", testing::golden("hf-more/bert-nli").string(), "--block"}).out;
  EXPECT_NE(post.find("(post-norm)"), std::string::npos) << post;
  EXPECT_EQ(count(post, "mean μ"), 1u) << post;
  EXPECT_EQ(count(post, "input of the sublayer"), 0u) << post;
  EXPECT_EQ(count(post, "LN(LN(x) + f)"), 1u) << post;
  EXPECT_EQ(post.find("agree to within"), std::string::npos) << post;
}

// The norm of a row with a small variance σ² is less than √n: the layer norm divides by √(σ² + ε).
TEST_F(ExplainProgram, ALayerNormAddsEpsilonToTheVariance) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  testing::copy_changed_model(folder_ / "gpt", folder_ / "small",
                              [](const std::string& name, const Tensor& weight) {
                                if (name.find("embedding") == name.npos && name.find("position") == name.npos)
                                  return;
                                for (std::int64_t i = 0; i < weight.elements(); ++i) weight.f32()[i] *= 0.1f;
                              });
  const std::string text = explain({"the fox", "--model", "small", "--block"}).out;
  const auto number_after = [&text](const std::string& before, const std::string& key) {
    const std::size_t at = text.find(key, text.find(before));
    return at == text.npos ? -1.0 : std::stod(text.substr(at + key.size()));
  };
  const double size = 32, length = number_after("  x  ", "  length "), mean = number_after("", "mean μ = ");
  const double variance = length * length / size - mean * mean;
  ASSERT_LT(variance, 1e-4);
  EXPECT_NEAR(number_after("(x − μ)", "  length "), std::sqrt(size * variance / (variance + 1e-5)), 0.1)
      << text;
}

TEST_F(ExplainProgram, SaysWhatIsNotThere) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  const auto layer = explain({"the", "--model", "gpt", "--layer", "9"});
  EXPECT_EQ(layer.exit_code, 2);
  EXPECT_NE(layer.err.find("(expected a layer from 0 to 1, found 9)"), std::string::npos) << layer.err;
  EXPECT_EQ(explain({"the", "--model", "gpt", "--head", "77"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--model", "gpt", "--tokenizer", "gpt/tokenizer.json"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--vectors", "nowhere.txt"}).exit_code, 4);
}

TEST_F(ExplainProgram, RefusesOptionsWithoutEffect) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  EXPECT_EQ(explain({"the bank", "--layer", "1"}).exit_code, 2);
  EXPECT_EQ(explain({"the bank", "--head", "1"}).exit_code, 2);
  EXPECT_EQ(explain({"the bank", "--model", "gpt", "--target", "the"}).exit_code, 2);
  for (const char* flag : {"--causal", "--no-positions", "--no-projections"})
    EXPECT_EQ(explain({"the", "--model", "gpt", flag}).exit_code, 2) << flag;
  EXPECT_EQ(explain({"the", "--model", "gpt", "--head-dim", "2"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--no-projections", "--head-dim", "2"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--svg", "a.svg", "--json"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--query", "the", "--svg", "a.svg"}).exit_code, 2);
  EXPECT_EQ(explain({"the", "--query", "the", "--json"}).exit_code, 2);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--head", "1"}, {"--full"}, {"--invented"}, {"--vectors", "v.txt"}}) {
    std::vector<std::string> arguments{"the", "--model", "gpt", "--block"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_EQ(explain(arguments).exit_code, 2) << options[0];
  }
}

}  // namespace
}  // namespace regard::testing
