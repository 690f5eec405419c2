// Search of the nearest text for each query.
#include "train/retrieval.h"

#include <gtest/gtest.h>

namespace regard::train {
namespace {

// Query i points to the angle of candidate i; the last query points to the candidate before.
TEST(Retrieval, FindsARowForEachOfManyQueries) {
  for (const std::int64_t rows : {1, 2, 255, 256, 257, 600}) {
    Tensor queries = Tensor::zeros({rows, rows}), candidates = Tensor::zeros({rows, rows});
    std::vector<std::string> texts;
    for (std::int64_t i = 0; i < rows; ++i) {
      candidates.row(i)[i] = 1.0f;
      queries.row(i)[i] = 1.0f;
      texts.push_back(std::to_string(i));
    }
    if (rows > 1) queries.row(rows - 1)[rows - 2] = 2.0f;
    ThreadPool pool(1);
    const Retrieval found = retrieve(pool, queries, candidates, texts);
    ASSERT_EQ(std::ssize(found.ranks), rows);
    ASSERT_EQ(std::ssize(found.best), rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const bool other = rows > 1 && i == rows - 1;
      EXPECT_EQ(found.best[row], other ? row - 1 : row);
      EXPECT_EQ(found.ranks[row], other ? 2 : 1);
    }
  }
}

TEST(Retrieval, CountsEqualTextsOnce) {
  Tensor queries = Tensor::zeros({4, 2}), candidates = Tensor::zeros({4, 2});
  const std::vector<std::string> texts{"a", "b", "a", "c"};
  const float angles[4][2] = {{1, 0}, {0, 1}, {1, 0}, {-1, 0}};
  for (std::int64_t i = 0; i < 4; ++i)
    for (std::int64_t k = 0; k < 2; ++k) {
      candidates.row(i)[k] = angles[i][k];
      queries.row(i)[k] = angles[3 - i][k];
    }
  ThreadPool pool(1);
  const Retrieval found = retrieve(pool, queries, candidates, texts);
  EXPECT_EQ(found.best, (std::vector<std::size_t>{3, 0, 1, 0}));
  EXPECT_EQ(found.ranks, (std::vector<std::int64_t>{3, 2, 3, 3}))
      << "texts with an equal score count as better";
  EXPECT_EQ(paired_products(queries, candidates), (std::vector<double>{-1.0, 0.0, 0.0, -1.0}));
}

}  // namespace
}  // namespace regard::train
