// The whole output of `regard context`, and its limits.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

class ContextOutput : public ::testing::Test {
 protected:
  ProgramResult context(std::vector<std::string> more, const std::string& input = "") const {
    more.insert(more.begin(), {"context", golden("hf-more/st-mean").string(), "bank"});
    return run_program(more, folder_.path(), input);
  }
  void expect_error(const std::vector<std::string>& more, int code, const std::string& message,
                    const std::string& input = "") const {
    const ProgramResult result = context(more, input);
    EXPECT_EQ(result.exit_code, code) << message;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "regard: " + message + "\n");
  }
  static std::string sentences(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "the bank\n";
    return text;
  }
  TemporaryFolder folder_;
};

TEST_F(ContextOutput, HasTheSensesTheLayersAndThePairs) {
  const ProgramResult result =
      context({"--input", "-"}, "money\tthe bank\n\nriver\ta bank of river\nbank only\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "'bank' in 3 sentences\n"
            "   1  [money] the bank\n"
            "   2  [river] a bank of river\n"
            "   3  bank only\n"
            "\n"
            "layer        cosine  same sense  other sense  silhouette\n"
            "static        1.000           -        1.000           -\n"
            "input         0.972           -        1.000           -\n"
            "layer 0       0.783           -        0.672           -\n"
            "layer 1       0.846           -        0.795           -\n"
            "output        0.846           -        0.795           -\n"
            "\n"
            "output: cosine of each pair, and the nearest other sentence\n"
            "          1      2      3  nearest\n"
            "   1  1.000  0.795  0.825  3\n"
            "   2  0.795  1.000  0.918  3\n"
            "   3  0.825  0.918  1.000  2\n");
}

TEST_F(ContextOutput, WithoutSensesHasOneColumnAndTheLayerOfTheOption) {
  for (const char* layer : {"0", "layer 0"}) {
    const ProgramResult result = context({"the bank", "a bank", "--layer", layer});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out,
              "'bank' in 2 sentences\n"
              "   1  the bank\n"
              "   2  a bank\n"
              "\n"
              "layer        cosine\n"
              "static        1.000\n"
              "input         1.000\n"
              "layer 0       0.992\n"
              "layer 1       0.985\n"
              "output        0.985\n"
              "\n"
              "layer 0: cosine of each pair, and the nearest other sentence\n"
              "          1      2  nearest\n"
              "   1  1.000  0.992  2\n"
              "   2  0.992  1.000  1\n");
  }
}

TEST_F(ContextOutput, VectorsAreInTheJsonOnlyWithTheOption) {
  const std::vector<std::string> plain{"the bank", "a bank", "--senses", "a,b", "--json"};
  std::vector<std::string> more = plain;
  more.emplace_back("--vectors");
  const Json without = parse_json(context(plain).out, "stdout"),
             with = parse_json(context(more).out, "stdout");
  ASSERT_EQ(with["layers"].size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_FALSE(without["layers"][i].contains("vectors")) << i;
    EXPECT_EQ(with["layers"][i]["vectors"].size(), 2u) << i;
  }
  EXPECT_EQ(without["sentences"][0]["sense"], "a");
  EXPECT_EQ(without["sentences"][1]["sense"], "b");
}

TEST_F(ContextOutput, HasPairsOfAtMost12Sentences) {
  const std::string few = context({}, sentences(12)).out, many = context({}, sentences(13)).out;
  EXPECT_NE(few.find("\noutput: cosine of each pair, and the nearest other sentence\n"), std::string::npos)
      << few;
  EXPECT_EQ(few.find("at most"), std::string::npos);
  EXPECT_TRUE(many.ends_with(
      "\n\nThe cosine of each pair is printed for at most 12 sentences; --json has all of them.\n"))
      << many;
}

TEST_F(ContextOutput, ErrorsNameWhatIsExpected) {
  expect_error({"the bank", "a bank", "--senses", "a"}, 2,
               "the number of senses in --senses differs from the number of sentences on the command line "
               "(expected 2 senses, found 1 sense)");
  expect_error(
      {"the bank", "a bank", "--layer", "2"}, 2,
      "the model has no such layer (expected one of static, input, layer 0, layer 1, output, found '2')");
  expect_error(
      {}, 3,
      "standard input: the file has no sentences (expected one sentence per line, optionally preceded by "
      "its sense and a tab)",
      "\n");
  expect_error(
      {}, 3,
      "standard input:1001: too many sentences (expected at most 1000 sentences, found at least 1001 "
      "sentences)",
      sentences(1002));
}

}  // namespace
}  // namespace regard::testing
