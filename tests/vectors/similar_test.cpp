// Neighbours, analogies and evaluations compared with direct implementations of their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/evaluate.h"

namespace regard::vectors {
namespace {

WordVectors random_vectors(std::size_t count, std::size_t size) {
  RandomStream random({7, 0, 0});
  std::vector<std::string> words;
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    words.push_back("w" + std::to_string(i));
    for (std::size_t at = 0; at < size; ++at) values.push_back(static_cast<float>(random.next_normal()));
  }
  return WordVectors(words, static_cast<std::int64_t>(size), values);
}

std::vector<float> vector_at(const WordVectors& vectors, std::size_t index) {
  std::vector<float> vector(static_cast<std::size_t>(vectors.size()));
  vectors.copy(index, vector.data());
  return vector;
}

std::vector<std::size_t> best(const std::vector<double>& scores, const std::vector<std::size_t>& excluded,
                              std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (std::find(excluded.begin(), excluded.end(), i) == excluded.end()) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(order.size(), count));
  return order;
}

TEST(Similar, NeighboursAndAnalogiesAreTheDefinitions) {
  const auto vectors = random_vectors(1300, 17);  // enough vectors for several blocks of the search
  ThreadPool pool(3);
  const auto cosine_to = [&](std::size_t a, std::size_t b) {
    return cosine(vector_at(vectors, a), vector_at(vectors, b));
  };
  std::vector<double> near, add, multiply;
  for (std::size_t i = 0; i < vectors.count(); ++i) {
    near.push_back(cosine_to(i, 5));
    add.push_back(cosine_to(i, 6) + cosine_to(i, 7) - cosine_to(i, 5));
    const auto shifted = [&](std::size_t which) { return (1.0 + cosine_to(i, which)) / 2.0; };
    multiply.push_back(shifted(6) * shifted(7) / (shifted(5) + 1e-6));
  }
  const std::vector<Question> one{neighbours_of(vectors, "w5")}, three{analogy_of(vectors, "w5", "w6", "w7")};
  const auto expect = [&](const std::vector<Neighbour>& ours, const std::vector<std::size_t>& order) {
    ASSERT_EQ(ours.size(), order.size());
    for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(ours[i].index, order[i]) << i;
  };
  expect(search(vectors, one, 20, pool)[0], best(near, {5}, 20));
  expect(search(vectors, three, 20, pool)[0], best(add, {5, 6, 7}, 20));
  expect(search(vectors, three, 20, pool, AnalogyMethod::multiply)[0], best(multiply, {5, 6, 7}, 20));
  EXPECT_TRUE(search(vectors, one, 0, pool)[0].empty());
  const auto restricted = search(vectors, one, 1000, pool, AnalogyMethod::add, 100)[0];
  EXPECT_EQ(restricted.size(), 99u);
  EXPECT_NEAR(restricted[0].score, near[restricted[0].index], 1e-6);
}

TEST(Similar, EqualScoresKeepTheFilesOrderForAnyNumberOfThreads) {
  std::vector<std::string> words;
  for (int i = 0; i < 2000; ++i) words.push_back("w" + std::to_string(i));
  const WordVectors vectors(words, 2, std::vector<float>(4000, 1.0f));
  const std::vector<Question> question{neighbours_of(vectors, "w3")};
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto found = search(vectors, question, 5, pool)[0];
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(found[i].index, i < 3 ? i : i + 1);
  }
}

TEST(Similar, AZeroVectorIsSimilarToNothing) {
  const WordVectors vectors(std::vector<std::string>{"a", "b", "none", "c"}, 2,
                            std::vector<float>{1, 0, 1, 1, 0, 0, -1, 0});
  ThreadPool pool(1);
  const auto order = [&](const Question& question, AnalogyMethod method) {
    std::vector<std::size_t> indices;
    const auto found = search(vectors, std::vector{question}, 4, pool, method);
    for (const Neighbour& one : found[0]) {
      EXPECT_TRUE(std::isfinite(one.score));
      indices.push_back(one.index);
    }
    return indices;
  };
  for (const AnalogyMethod method : {AnalogyMethod::add, AnalogyMethod::multiply})
    EXPECT_EQ(order(neighbours_of(vectors, "a"), method), (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(order(neighbours_of(vectors, "none"), AnalogyMethod::add), (std::vector<std::size_t>{0, 1, 3}));
}

// The inverse of the norm of "tiny" and the norm of "huge" are beyond the range of float.
TEST(Similar, VerySmallAndVeryLargeVectorsHaveTheirCosines) {
  const WordVectors vectors(std::vector<std::string>{"a", "tiny", "huge", "b"}, 2,
                            std::vector<float>{1, 0, 1e-43f, 1e-43f, 3e38f, 3e38f, 0, 1});
  ThreadPool pool(1);
  EXPECT_TRUE(std::isfinite(vectors.norm(2)));
  for (const char* word : {"a", "tiny", "huge", "b"}) {
    const auto found = search(vectors, std::vector{neighbours_of(vectors, word)}, 4, pool);
    for (const Neighbour& one : found.at(0)) {
      const double expected = cosine(vectors.require(word), vector_at(vectors, one.index));
      EXPECT_NEAR(one.score, expected, 1e-6) << word << " " << vectors.word(one.index);
    }
  }
}

TEST(Similar, UnknownWordsAreNamed) {
  const auto vectors = random_vectors(5, 3);
  EXPECT_REGARD_ERROR(neighbours_of(vectors, "bank"), ErrorKind::usage, "'bank'");
  EXPECT_REGARD_ERROR(analogy_of(vectors, "w1", "w2", "bank"), ErrorKind::usage, "'bank'");
}

class EvaluateFiles : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) {
    return testing::write_file(folder_.path(), "data", content);
  }
  testing::TemporaryFolder folder_;
  ThreadPool pool_{2};
  // king − man + woman = queen exactly; "Queen" has the same vector later in the file.
  const WordVectors vectors_{std::vector<std::string>{"king", "man", "woman", "queen", "Queen", "tree"}, 3,
                             std::vector<float>{1, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, -1, 0}};
};

TEST_F(EvaluateFiles, PairsCountUnknownWords) {
  const auto path = file(
      "word1\tword2\tscore\n# said by people\nking\tQUEEN\t8.5\nman\ttree\t1\nking\tbank\t2\nman\tking\t9\n");
  const PairsResult result = evaluate_pairs(vectors_, path, {});
  EXPECT_EQ(result.pairs, 3);
  EXPECT_EQ(result.unknown, 1);
  EXPECT_NEAR(result.spearman, 1.0, 1e-12);
  EvaluationOptions exact;
  exact.case_sensitive = true;
  EXPECT_EQ(evaluate_pairs(vectors_, path, exact).unknown, 2);
  EvaluationOptions few;
  few.restrict = 3;
  EXPECT_EQ(evaluate_pairs(vectors_, path, few).pairs, 1);
  const auto with_header = file("# by people\n\nword1 word2 score\nking man 3\nking queen 5\n");
  EXPECT_EQ(evaluate_pairs(vectors_, with_header, {}).pairs, 2);
  EXPECT_REGARD_ERROR(evaluate_pairs(vectors_, file("king man 3\nking man\n"), {}), ErrorKind::bad_file,
                      "data:2");
}

TEST_F(EvaluateFiles, AnalogiesBySection) {
  const auto path = file(
      ": royal\nman king woman queen\nMan King Woman Queen\nman king woman tree\n: other\nman king bank "
      "tree\n");
  EXPECT_TRUE(EvaluationFile(path).holds_analogies());
  const auto sections = evaluate_analogies(vectors_, path, {}, pool_);
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[0].name, "royal");
  EXPECT_EQ(sections[0].correct, 2);
  EXPECT_EQ(sections[0].asked, 3);
  EXPECT_EQ(sections[1].asked, 0);
  EXPECT_EQ(sections[1].unknown, 1);
  EXPECT_REGARD_ERROR(evaluate_analogies(vectors_, file("man king woman queen\n"), {}, pool_),
                      ErrorKind::bad_file, "data:1");
  EXPECT_REGARD_ERROR(evaluate_analogies(vectors_, file(": a\nman king woman\n"), {}, pool_),
                      ErrorKind::bad_file, "WORD WORD WORD WORD");
}

TEST_F(EvaluateFiles, StandardInputIsReadOnce) {
  testing::write_file(folder_.path(), "v.txt", "a 1 0\nb 1 1\nc 0 1\n");
  const std::string pairs = "# by people\na\tb\t2\na\tc\t1\n", analogies = ": one\na b a b\n";
  for (const auto& [data, expected] : {std::pair(pairs, "over 2 pairs"), {analogies, "0 of     1"}}) {
    const auto result = testing::run_program({"vectors", "evaluate", "v.txt", "-"}, folder_.path(), data);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(result.out.find(expected), std::string::npos) << result.out;
  }
}

}  // namespace
}  // namespace regard::vectors
