// Every file of the wordvec folder compared with gensim: neighbours, analogies, unseen words, evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/json.h"
#include "support/shared_data.h"
#include "vectors/evaluate.h"

namespace regard::vectors {
namespace {

std::filesystem::path file_of(const std::string& name) {
  return testing::shared_folder() / "data" / "wordvec" / name;
}

Json gensim() {
  return read_json(testing::golden("vectors/gensim.json").string());
}

// Scores must agree at each rank; words too, unless an adjacent score is equal within the tolerance.
void expect_neighbours(const WordVectors& vectors, const std::vector<Neighbour>& ours, const Json& theirs,
                       double tolerance, const std::string& what) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double score = theirs[i][1].get<double>();
    EXPECT_NEAR(ours[i].score, score, tolerance * std::max(1.0, std::abs(score))) << what << ", place " << i;
    const bool tied =
        (i > 0 && std::abs(theirs[i - 1][1].get<double>() - score) < 2 * tolerance) ||
        (i + 1 < ours.size() && std::abs(theirs[i + 1][1].get<double>() - score) < 2 * tolerance);
    if (tied) continue;
    EXPECT_EQ(vectors.word(ours[i].index), theirs[i][0].get<std::string>()) << what << ", place " << i;
  }
}

TEST(GensimData, EveryFileGivesItsNeighboursAndAnalogies) {
  REGARD_NEEDS_SHARED();
  ThreadPool pool(2);
  const Json golden = gensim();
  ASSERT_EQ(golden.at("files").size(), 10u);
  for (const auto& [name, expected] : golden.at("files").items()) {
    const auto vectors = WordVectors::load(file_of(name), pool);
    EXPECT_EQ(vectors.count(), expected.at("words").get<std::size_t>()) << name;
    EXPECT_EQ(vectors.size(), expected.at("size").get<std::int64_t>()) << name;
    ASSERT_EQ(expected.at("similar").size(), 10u);
    for (const auto& [word, neighbours] : expected.at("similar").items()) {
      const std::vector<Question> questions{neighbours_of(vectors, word)};
      expect_neighbours(vectors, search(vectors, questions, neighbours.size(), pool)[0], neighbours, 2e-6,
                        name + ", " + word);
    }
    const Json& analogy = expected.at("analogy");
    const auto abc = analogy.at("abc").get<std::vector<std::string>>();
    const std::vector<Question> questions{analogy_of(vectors, abc[0], abc[1], abc[2])};
    expect_neighbours(vectors, search(vectors, questions, 3, pool)[0], analogy.at("add"), 2e-6,
                      name + ", 3CosAdd");
    // 3CosMul divides by a cosine, and a divisor near zero magnifies its rounding error.
    expect_neighbours(vectors, search(vectors, questions, 3, pool, AnalogyMethod::multiply)[0],
                      analogy.at("multiply"), 2e-5, name + ", 3CosMul");
  }
}

TEST(GensimData, WordsOutsideAFasttextModelHaveTheirNgramsMean) {
  REGARD_NEEDS_SHARED();
  ThreadPool pool(1);
  const auto vectors = WordVectors::load(file_of("crime-and-punishment.bin"), pool);
  const Json golden = gensim();
  for (const auto& [word, expected] :
       golden.at("files").at("crime-and-punishment.bin").at("unseen").items()) {
    ASSERT_FALSE(vectors.find(word)) << word;
    const auto ours = vectors.require(word);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_NEAR(ours[i], expected[i].get<double>(), 1e-7) << word;
  }
}

// fastText wrote both files. In the text file, the vectors of words include their n-grams and have five
// digits.
TEST(GensimData, FasttextsBinaryFormHoldsWhatItsTextFormSays) {
  REGARD_NEEDS_SHARED();
  ThreadPool pool(1);
  const auto binary = WordVectors::load(file_of("crime-and-punishment.bin"), pool);
  const auto text = WordVectors::load(file_of("crime-and-punishment.vec"), pool);
  ASSERT_EQ(binary.count(), text.count());
  std::vector<float> a(5), b(5);
  for (std::size_t i = 0; i < text.count(); ++i) {
    ASSERT_EQ(binary.word(i), text.word(i));
    binary.copy(i, a.data());
    text.copy(i, b.data());
    for (std::size_t at = 0; at < 5; ++at)
      EXPECT_NEAR(a[at], b[at], 5e-5 * std::abs(static_cast<double>(b[at])) + 1e-8) << text.word(i);
  }
}

TEST(GensimData, EvaluationsAgree) {
  REGARD_NEEDS_SHARED();
  ThreadPool pool(2);
  const auto vectors = WordVectors::load(file_of("googlenews_top1000.w2v.txt"), pool);
  const Json all = gensim();
  const Json& expected = all.at("evaluation");
  const PairsResult pairs = evaluate_pairs(vectors, testing::golden("vectors/pairs.tsv"), {});
  EXPECT_NEAR(pairs.spearman, expected.at("spearman").get<double>(), 1e-6);
  EXPECT_NEAR(pairs.pearson, expected.at("pearson").get<double>(), 1e-6);
  EXPECT_NEAR(100.0 * static_cast<double>(pairs.unknown) / static_cast<double>(pairs.unknown + pairs.pairs),
              expected.at("oov_percent").get<double>(), 1e-9);
  for (const AnalogyMethod method : {AnalogyMethod::add, AnalogyMethod::multiply}) {
    EvaluationOptions options;
    options.method = method;
    const auto sections =
        evaluate_analogies(vectors, testing::golden("vectors/analogies.txt"), options, pool);
    const Json& theirs = expected.at(method == AnalogyMethod::add ? "add" : "multiply");
    ASSERT_EQ(sections.size(), theirs.size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
      EXPECT_EQ(sections[i].name, theirs[i][0].get<std::string>());
      EXPECT_EQ(sections[i].correct, theirs[i][1].get<std::int64_t>()) << sections[i].name;
      EXPECT_EQ(sections[i].asked, theirs[i][2].get<std::int64_t>()) << sections[i].name;
      EXPECT_EQ(sections[i].asked + sections[i].unknown, 40);
    }
  }
}

}  // namespace
}  // namespace regard::vectors
