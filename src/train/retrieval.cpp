#include "train/retrieval.h"

#include <algorithm>
#include <unordered_map>

#include "kernels/gemm.h"
#include "metrics/retrieval.h"

namespace regard::train {

Retrieval retrieve(ThreadPool& pool, const Tensor& queries, const Tensor& candidates,
                   std::span<const std::string> texts) {
  constexpr std::int64_t kQueriesAtOnce = 256;
  const std::int64_t features = queries.columns(), rows = queries.rows();
  std::unordered_map<std::string, std::int64_t> numbers;
  std::vector<std::int64_t> right;     // for each query, index of the correct text among the distinct texts
  std::vector<std::size_t> first_row;  // for each distinct text, index of its first row in `texts`
  for (const std::string& text : texts) {
    const auto [entry, is_new] = numbers.try_emplace(text, std::ssize(first_row));
    if (is_new) first_row.push_back(right.size());
    right.push_back(entry->second);
  }
  const std::int64_t count = std::ssize(first_row);
  Tensor kept = Tensor::empty({count, features}), scores = Tensor::empty({kQueriesAtOnce, count});
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(candidates.row(static_cast<std::int64_t>(first_row[static_cast<std::size_t>(i)])), features,
                kept.row(i));
  Retrieval found;
  for (std::int64_t begin = 0; begin < rows; begin += kQueriesAtOnce) {
    const std::int64_t some = std::min(kQueriesAtOnce, rows - begin);
    kernels::gemm(pool, {.m = some,
                         .n = count,
                         .k = features,
                         .a = queries.row(begin),
                         .lda = features,
                         .b = kept.f32(),
                         .ldb = features,
                         .transpose_b = true,
                         .c = scores.f32(),
                         .ldc = count,
                         .epilogue = {}});
    const auto ranks = metrics::ranks_of_right(
        {scores.f32(), static_cast<std::size_t>(some * count)}, count,
        std::span(right).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(some)));
    found.ranks.insert(found.ranks.end(), ranks.begin(), ranks.end());
    for (std::int64_t i = 0; i < some; ++i) {
      const float* row = scores.row(i);
      found.best.push_back(first_row[static_cast<std::size_t>(std::max_element(row, row + count) - row)]);
    }
  }
  return found;
}

std::vector<double> paired_products(const Tensor& a, const Tensor& b) {
  std::vector<double> products;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.columns(); ++k)
      sum += static_cast<double>(a.row(i)[k]) * static_cast<double>(b.row(i)[k]);
    products.push_back(sum);
  }
  return products;
}

}  // namespace regard::train
