// Images, limits and numbers of `regard explain`, and its errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

class ExplainOutput : public ::testing::Test {
 protected:
  ProgramResult explain(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "explain");
    return run_program(arguments, folder_.path());
  }
  std::string out(const std::vector<std::string>& arguments) const {
    const ProgramResult result = explain(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& message) const {
    const ProgramResult result = explain(arguments);
    EXPECT_EQ(result.exit_code, code) << message;
    EXPECT_EQ(result.out, "") << message;
    EXPECT_EQ(result.err, "regard: " + message + "\n");
  }
  // "w1 w2 … wN"
  static std::string words(int count) {
    std::string text;
    for (int i = 1; i <= count; ++i) text += (i == 1 ? "w" : " w") + std::to_string(i);
    return text;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  TemporaryFolder folder_;
};

TEST_F(ExplainOutput, AnImageHasTheWeights) {
  write_file(folder_.path(), "v.txt", "money 1 0\nbank 0 1\n");
  const std::string svg =
      out({"money bank", "--vectors", "v.txt", "--no-positions", "--no-projections", "--svg", "-"});
  for (const char* part :
       {">Attention: money bank<", ">weights, percent of each row<", ">money → money: 0.7310",
        ">money → bank: 0.2689", ">bank → money: 0.2689", ">bank → bank: 0.7310"})
    EXPECT_EQ(count(svg, part), 1u) << part << "\n" << svg;
  write_text_model(folder_ / "gpt", "gpt");
  EXPECT_EQ(out({"the", "--model", "gpt", "--head", "3", "--svg", "a.svg"}), "");
  EXPECT_NE(file_content(folder_ / "a.svg").find(">weights of layer 0, head 3 of the decoder<"),
            std::string::npos);
  // An image has at most 64 tokens; --full removes the limit.
  EXPECT_EQ(count(out({words(64), "--svg", "-"}), " → w64: "), 64u);
  expect_error({words(65), "--svg", "-"}, 3,
               "TEXT is too long for an image (expected at most 64 tokens, found 65 tokens). Add --full to "
               "draw all tokens");
  EXPECT_EQ(count(out({words(65), "--svg", "-", "--full"}), " → w65: "), 65u);
}

TEST_F(ExplainOutput, ShowsAtMost64Tokens) {
  const std::string all = out({words(64), "--query", "63"}), most = out({words(65), "--query", "64"});
  EXPECT_TRUE(all.starts_with("64 tokens: [w1] ")) << all.substr(0, 99);
  EXPECT_NE(all.find(" [w63] [w64]\n"), std::string::npos);
  EXPECT_TRUE(most.starts_with("65 tokens: [w1] ")) << most.substr(0, 99);
  EXPECT_NE(most.find(" [w64] … 1 more\n"), std::string::npos);
  EXPECT_EQ(count(all, "\n  … 1 more\n"), 0u);
  EXPECT_EQ(count(most, "\n  … 1 more\n"), 2u) << "one of the scores and one of the weighted values";
  for (const std::string* text : {&all, &most}) {
    EXPECT_EQ(count(*text, " score "), 64u);
    EXPECT_EQ(count(*text, "\n  + "), 63u) << "the first weighted value has no sign";
  }
  EXPECT_EQ(count(out({words(65), "--query", "64", "--full"}), "\n  + "), 64u);
  const Json weights = parse_json(lines_of(out({words(65), "--json"})).at(9), "stdout");
  EXPECT_EQ(weights["shown"], Json({64, 64})) << weights["step"];
  EXPECT_EQ(count(out({words(64), "--json"}), "\"shown\""), 0u);
}

TEST_F(ExplainOutput, AWrongQueryNamesTheTokens) {
  std::string list = "w1";
  for (int i = 2; i <= 20; ++i) list += ", w" + std::to_string(i);
  for (const char* query : {"20", "-1", "1x", "q"})
    expect_error({words(20), "--query", query}, 2,
                 "--query does not match a token (expected a number below 20, or one of: " + list +
                     ", found " + query + ")");
  expect_error(
      {words(21), "--query", "21"}, 2,
      "--query does not match a token (expected a number below 21, or one of: " + list + ", …, found 21)");
  EXPECT_NE(out({words(20), "--query", "19"}).find("\n'w20' (token 19) attends to 20 tokens\n"),
            std::string::npos);
  EXPECT_NE(out({words(20), "--query", "0"}).find("\n'w1' (token 0) attends to 20 tokens\n"),
            std::string::npos);
}

// Numbers of a line of --block: the values after "[SIZE] [", and the length of the vector.
struct ShownRow {
  explicit ShownRow(const std::string& line) {
    std::istringstream values(line.substr(line.find("] [") + 3));
    char comma = 0;
    for (double value = 0; values >> value; values >> comma) first.push_back(value);
    length = std::stod(line.substr(line.find("length ") + 7));
  }
  std::vector<double> first;
  double length = 0;
};

TEST_F(ExplainOutput, TheRowsOfALayerAddUp) {
  write_text_model(folder_ / "gpt", "gpt");
  const std::string text = out({"the fox", "--model", "gpt", "--block", "--query", "2"});
  EXPECT_TRUE(
      text.starts_with("layer 0 of the decoder, token 2 'e' of 7; layer norm before each layer (pre-norm)\n"))
      << text;
  EXPECT_TRUE(out({"the fox", "--model", "gpt", "--block", "--layer", "1"})
                  .starts_with("layer 1 of the decoder, token 6 'x' of 7; layer norm "));
  EXPECT_NE(text.find("\n             48 of 48 features are not 0\n"), std::string::npos) << text;
  const auto row = [&](const std::string& name) {
    const std::size_t at = text.find(name);
    EXPECT_NE(at, text.npos) << name;
    return ShownRow(text.substr(at, text.find('\n', at) - at));
  };
  const ShownRow x = row("input of the layer"), a = row("concatenated heads · W_O"),
                 y = row("residual: x + a"), f = row("h W_2 + b_2"), z = row("residual: x + f"),
                 result = row("output of the layer"), normal = row("(x − μ) / √(σ² + 1e-5)"),
                 used = row("· gain + bias");
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(y.first.at(i), x.first.at(i) + a.first.at(i), 1.6e-3) << i;
    EXPECT_NEAR(z.first.at(i), y.first.at(i) + f.first.at(i), 1.6e-3) << i;
    EXPECT_EQ(result.first.at(i), z.first.at(i)) << i;
    EXPECT_NEAR(normal.first.at(i), used.first.at(i), 1.1e-3) << "gain 1 and bias 0: " << i;
  }
  EXPECT_EQ(result.length, z.length);
  // The norm line has the mean and the variance of x, from which its length over 32 features follows.
  const std::size_t norm = text.find("mean μ = ");
  const double mean = std::stod(text.substr(norm + 10));
  const double variance = std::stod(text.substr(text.find("σ² = ", norm) + 7));
  EXPECT_NEAR(x.length, std::sqrt(32 * (variance + mean * mean)), 4e-3);
  EXPECT_NEAR(normal.length, std::sqrt(32 * variance / (variance + 1e-5)), 1e-2);
  EXPECT_NEAR(normal.first.at(1), (x.first.at(1) - mean) / std::sqrt(variance + 1e-5), 3e-2);
  const std::string agree = "\n  The sum above and the layer's result agree to within ";
  ASSERT_NE(text.find(agree), text.npos) << text;
  const double difference = std::stod(text.substr(text.find(agree) + agree.size()));
  EXPECT_GE(difference, 1e-9);
  EXPECT_LT(difference, 1e-6);
}

// The three largest weights of each head are those that `attend` shows.
TEST_F(ExplainOutput, ALayerListsTheLargestWeights) {
  write_text_model(folder_ / "gpt", "gpt");
  const std::string text = out({"the fox", "--model", "gpt", "--block"});
  const auto shown = run_program({"attend", "gpt", "the fox", "--json", "--full", "-q"}, folder_.path());
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const Json capture = parse_json(shown.out, "stdout");
  const std::vector<std::string> tokens{"t", "h", "e", "▁", "f", "o", "x"};
  int heads = 0;
  for (const Json& map : capture["attention"]) {
    if (map["layer"] != 0) continue;
    const auto weights = map["weights"][6].get<std::vector<double>>();
    std::string expected = "\n  head " + map["head"].dump() + "     weights: ";
    const std::size_t at = text.find(expected);
    ASSERT_NE(at, text.npos) << expected << text;
    std::vector<double> sorted = weights;
    std::sort(sorted.rbegin(), sorted.rend());
    std::istringstream line(text.substr(at + expected.size()));
    for (int i = 0; i < 3; ++i) {
      std::string token;
      double weight = 0;
      char comma = 0;
      ASSERT_TRUE(line >> token >> weight) << text;
      if (i < 2) line >> comma;
      EXPECT_NEAR(weight, sorted[static_cast<std::size_t>(i)], 5.1e-3);
      const auto place = static_cast<std::size_t>(std::ranges::find(tokens, token) - tokens.begin());
      EXPECT_NEAR(weight, weights.at(place), 5.1e-3) << token;
    }
    ++heads;
  }
  EXPECT_EQ(heads, 4);
}

TEST_F(ExplainOutput, ErrorsNameTheCauseAndTheRemedy) {
  write_text_model(folder_ / "gpt", "gpt");
  expect_error({"the\xFF"}, 3, "TEXT (byte 3): the text is not UTF-8");
  expect_error({" "}, 3, "TEXT has no words. Try: regard explain \"Money Bank Grows\"");
  expect_error({"", "--model", "gpt"}, 3,
               "TEXT has no tokens (expected a text of at least one token, found '')");
  expect_error({"a", "--vectors", "v.txt", "--invented"}, 2,
               "--vectors cannot be combined with --invented. Remove one of the two options");
  expect_error({"the", "--block"}, 2, "--block needs --model. Add --model FOLDER");
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--json"}, std::vector<std::string>{"--svg", "a.svg"}}) {
    std::vector<std::string> arguments{"the", "--model", "gpt", "--block"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    expect_error(arguments, 2, "--block prints text only. Remove --svg and --json");
  }
  expect_error({"the", "--model", "gpt", "--head", "4"}, 2,
               "the model has no such head (expected a head from 0 to 3, found 4)");
  std::string longest;
  for (int i = 0; i < 2049; ++i) longest += "a ";
  const char* const too_long =
      "TEXT is too long to explain (expected at most 2048 tokens, found 2049 tokens)";
  expect_error({longest}, 3, too_long);
  write_text_model(folder_ / "long", "gpt", 3000);
  expect_error({std::string(2049, 'a'), "--model", "long"}, 3, too_long);
  expect_error({std::string(2049, 'a'), "--model", "long", "--block"}, 3, too_long);
}

}  // namespace
}  // namespace regard::testing
