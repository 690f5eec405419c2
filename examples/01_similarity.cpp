// 1. Similarity of words: the dot product, the cosine, and a search with queries, keys and values.
#include <cstdio>
#include <string>
#include <vector>

#include "regard/math.h"
#include "regard/print.h"

int main() {
  using regard::Tensor;

  // Vectors of two invented features, sweetness and roundness; the dot products can be checked by hand.
  const Tensor apple = Tensor::of({2, 3}), orange = Tensor::of({4, 6}), phone = Tensor::of({4, 1});
  std::printf("apple · orange = 2·4 + 3·6 = %.0f\n", static_cast<double>(regard::dot(apple, orange)));
  std::printf("apple · phone  = 2·4 + 3·1 = %.0f\n", static_cast<double>(regard::dot(apple, phone)));

  // The cosine ignores lengths: orange has exactly the direction of apple and twice its length.
  std::printf("cosine(apple, orange) = %.3f\n",
              static_cast<double>(regard::cosine_similarity(apple, orange)));
  std::printf("cosine(apple, phone)  = %.3f\n\n",
              static_cast<double>(regard::cosine_similarity(apple, phone)));

  // A search has a query, and a key and a value for each entry. The query is compared only with the keys; the
  // values are the results.
  const std::vector<std::string> titles = {"fruit salad", "apple pie", "phone repair", "mobile apps",
                                           "orchards"};
  const Tensor keys = Tensor::of({5, 3}, {0.9F, 0.1F, 0.0F,  // columns: food, plants, technology
                                          0.8F, 0.3F, 0.0F,  //
                                          0.0F, 0.0F, 0.9F,  //
                                          0.1F, 0.0F, 0.8F,  //
                                          0.3F, 0.9F, 0.0F});
  const Tensor query = Tensor::of({0.7F, 0.6F, 0.0F});  // the query "something with apples"
  std::printf("query %s\n", regard::vector_text(query, 1).c_str());
  for (const std::int64_t row : regard::most_similar_rows(keys, query, 3)) {
    const Tensor key = keys.slice_rows(row, row + 1).reshape({3});
    std::printf("  %.2f  key %s  value: %s\n", static_cast<double>(regard::dot(key, query)),
                regard::vector_text(key, 1).c_str(), titles[static_cast<std::size_t>(row)].c_str());
  }

  // Attention replaces the result of the search by the mean of all values, weighted by the softmax of the
  // scores.
  const Tensor scores = regard::matmul_transposed(query.reshape({1, 3}), keys);
  std::printf("\n%s", regard::matrix_text("weights = softmax(query keysᵀ)", regard::softmax(scores),
                                          {.digits = 3, .row_names = {"query"}, .column_names = titles})
                          .c_str());
}
