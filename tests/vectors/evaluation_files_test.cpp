// Files of word pairs and analogies: fields, comments, words that differ in case, and whole messages.
#include <gtest/gtest.h>

#include <cmath>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/evaluate.h"

namespace regard::vectors {
namespace {

class EvaluationFiles : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) {
    return testing::write_file(folder_.path(), "data", content);
  }
  PairsResult pairs(const std::string& content, const EvaluationOptions& options = {}) {
    return evaluate_pairs(vectors_, file(content), options);
  }
  std::vector<AnalogySection> analogies(const std::string& content, const EvaluationOptions& options = {}) {
    return evaluate_analogies(vectors_, file(content), options, pool_);
  }
  testing::TemporaryFolder folder_;
  const std::string name_ = (folder_ / "data").string();
  ThreadPool pool_{2};
  // king − man + woman = queen; "Queen" and "new york" come later in the file.
  const WordVectors vectors_{
      std::vector<std::string>{"king", "man", "woman", "queen", "Queen", "new york", "tree"}, 3,
      std::vector<float>{1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0.9f, 1, 0.5f, 0, 0.5f, 0, -1, 0}};
};

TEST_F(EvaluationFiles, TabsSeparateFieldsThatHaveBlanks) {
  const PairsResult result =
      pairs("new york\t king \t1\n\nman\tnew york\t2\t3\nking\ttree\t-1e-3\n# x y 3\n");
  EXPECT_EQ(result.pairs, 3);
  EXPECT_EQ(result.unknown, 0);
  EXPECT_NEAR(result.spearman, 1.0, 1e-12);
  EXPECT_EQ(pairs("king  man   3\nking queen 5\n").pairs, 2);
}

TEST_F(EvaluationFiles, PearsonAndSpearmanOfThePairs) {
  // the cosines of king with man, woman and queen
  const PairsResult result = pairs("king man 3\nking woman 1\nking queen 2\n");
  EXPECT_NEAR(result.spearman, 1.0, 1e-12);
  const double x[] = {std::sqrt(0.5), 0.0, 0.5}, y[] = {3, 1, 2};
  double mean = 0, xy = 0, xx = 0, yy = 0;
  for (const double one : x) mean += one / 3;
  for (int i = 0; i < 3; ++i)
    xy += (x[i] - mean) * (y[i] - 2), xx += (x[i] - mean) * (x[i] - mean), yy += (y[i] - 2) * (y[i] - 2);
  EXPECT_NEAR(result.pearson, xy / std::sqrt(xx * yy), 1e-6);
}

TEST_F(EvaluationFiles, OnlyTheFirstLineMayBeAHeader) {
  EXPECT_EQ(pairs("a b score\nking man 3\nking queen 5\n").pairs, 2);
  const std::string wrong = ": invalid word pair (expected WORD WORD NUMBER, found '";
  testing::expect_error_text(ErrorKind::bad_file, name_ + ":2" + wrong + "a b score')",
                             [&] { pairs("king man 3\na b score\nking queen 5\n"); });
  testing::expect_error_text(ErrorKind::bad_file, name_ + ":1" + wrong + "king man')",
                             [&] { pairs("king man\nking queen 5\n"); });
  for (const std::string number : {"nan", "inf", "1x"})
    testing::expect_error_text(ErrorKind::bad_file, name_ + ":2" + wrong + "king man " + number + "')",
                               [&] { pairs("king man 3\nking man " + number + "\n"); });
  const std::string longest = "king " + std::string(100, 'x');
  testing::expect_error_text(ErrorKind::bad_file, name_ + ":2" + wrong + longest.substr(0, 80) + "')",
                             [&] { pairs("king man 3\n" + longest + "\n"); });
}

TEST_F(EvaluationFiles, ThatNothingCanBeComputedFromAreRefused) {
  const std::string none =
      name_ +
      ": no data to evaluate on (expected WORD WORD NUMBER per line, or analogies in the format of "
      "questions-words.txt)";
  testing::expect_error_text(ErrorKind::bad_file, none, [&] { pairs("# nothing\n\n"); });
  testing::expect_error_text(ErrorKind::bad_file, none, [&] { analogies(": empty\n"); });
  const auto unknown = [&](const char* what, int count) {
    return std::string("every ") + what + " in " + name_ +
           " contains a word without a vector (expected at least 1 whose words all have vectors, found " +
           std::to_string(count) + " with such a word)";
  };
  testing::expect_error_text(ErrorKind::usage, unknown("pair", 2), [&] { pairs("king x 1\ny man 2\n"); });
  testing::expect_error_text(ErrorKind::usage, unknown("analogy", 3),
                             [&] { analogies(": a\nking man x queen\nx x x x\n: b\nking man woman x\n"); });
}

TEST_F(EvaluationFiles, AnalogiesNeedASectionAndFourWords) {
  testing::expect_error_text(
      ErrorKind::bad_file,
      name_ +
          ":1: a section is missing before the first analogy (expected : NAME, found 'man king woman "
          "queen')",
      [&] { analogies("man king woman queen\n"); });
  for (const std::string line : {"man king woman", "man king woman queen tree"})
    testing::expect_error_text(
        ErrorKind::bad_file,
        name_ + ":2: invalid analogy (expected WORD WORD WORD WORD, found '" + line + "')",
        [&] { analogies(": a\n" + line + "\n"); });
}

TEST_F(EvaluationFiles, SectionsCountTheirOwnQuestions) {
  const auto sections = analogies(
      ":one\nman king woman queen\nman king woman tree\nx king woman queen\n# comment\n\n: two words\n"
      "MAN KING WOMAN QUEEN\n");
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].name, "one");
  EXPECT_EQ(sections[1].name, "two words");
  EXPECT_EQ(sections[0].correct, 1);
  EXPECT_EQ(sections[0].asked, 2);
  EXPECT_EQ(sections[0].unknown, 1);
  EXPECT_EQ(sections[1].correct, 1);
  EXPECT_EQ(sections[1].asked, 1);
  EXPECT_EQ(sections[1].unknown, 0);
  EvaluationOptions exact;
  exact.case_sensitive = true;
  const auto strict =
      analogies(": a\nman king woman queen\nman king woman Queen\nMAN king woman queen\n", exact);
  EXPECT_EQ(strict[0].correct, 1);
  EXPECT_EQ(strict[0].asked, 2);
  EXPECT_EQ(strict[0].unknown, 1);
  EvaluationOptions few;
  few.restrict = 3;  // without queen
  EXPECT_EQ(analogies(": a\nman king woman queen\nman king woman man\n", few)[0].unknown, 1);
  few.restrict = 4;
  EXPECT_EQ(analogies(": a\nman king woman queen\n", few)[0].correct, 1);
  few.restrict = 0;
  EXPECT_EQ(pairs("new york\ttree\t1\nking\tman\t2\n", few).pairs, 2);
}

// Questions are answered 1024 at a time.
TEST_F(EvaluationFiles, ManyQuestionsAreAllAnswered) {
  std::string text = ": many\n";
  for (int i = 0; i < 1025; ++i) text += i % 5 == 0 ? "man king woman tree\n" : "man king woman queen\n";
  const auto sections = analogies(text);
  EXPECT_EQ(sections[0].asked, 1025);
  EXPECT_EQ(sections[0].correct, 820);
}

}  // namespace
}  // namespace regard::vectors
