#include "cli/explain_pull.h"

#include <fmt/format.h>

#include <vector>

#include "base/plain_text.h"
#include "regard/math.h"
#include "vectors/shipped.h"
#include "vectors/similar.h"

namespace regard::cli {
namespace {

constexpr std::int64_t kMostWords = 4;  // maximum number of words described without --query
// number of most frequent words among which neighbours are searched
constexpr std::size_t kMostFrequent = 2500;
constexpr std::size_t kNeighbours = 3, kMostCosines = 6;

std::vector<float> vector_at(const Tensor& matrix, std::int64_t row) {
  return {matrix.row(row), matrix.row(row) + matrix.columns()};
}

std::string nearest(const std::vector<float>& vector, const std::string& word, ThreadPool& pool) {
  const vectors::WordVectors& table = vectors::shipped_vectors();
  vectors::Question question;
  question.positive.push_back(vector);
  if (const auto own = table.find(lower_case(word))) question.excluded.push_back(*own);
  std::string names;
  const auto found =
      vectors::search(table, {&question, 1}, kNeighbours, pool, vectors::AnalogyMethod::add, kMostFrequent);
  for (const vectors::Neighbour& one : found[0])
    names += (names.empty() ? "" : ", ") + std::string(table.word(one.index));
  return names;
}

// Return true if vectors::shipped_vectors() contains the token in lower case. Only such tokens are described,
// because others may have random vectors.
bool is_known(const std::string& token) {
  return vectors::shipped_vectors().find(lower_case(token)).has_value();
}

}  // namespace

std::string pull_text(const ExplainInput& input, std::optional<std::int64_t> query, ThreadPool& pool) {
  const std::int64_t length = std::ssize(input.tokens);
  if (length < 2) return "";
  const Tensor& x = input.vectors;
  const Tensor after = matmul(softmax(matmul_transposed(x, x)), x);
  std::string text =
      "The projections above are random, so the weights above have no meaning. The vectors are trained:\n"
      "without projections, softmax(X Xᵀ) X moves each word towards its neighbours (cosines before → "
      "after):\n";
  std::int64_t described = 0;
  for (std::int64_t i = query.value_or(0); i < length && described < (query ? 1 : kMostWords); ++i) {
    const std::string& word = input.tokens[static_cast<std::size_t>(i)];
    if (!is_known(word)) {
      if (query) break;
      continue;
    }
    ++described;
    const std::vector<float> old = vector_at(x, i), now = vector_at(after, i);
    text += fmt::format("  {}:", word);
    std::size_t cosines = 0;
    for (std::int64_t other = 0; other < length && cosines < kMostCosines; ++other) {
      const std::string& name = input.tokens[static_cast<std::size_t>(other)];
      if (other == i || !is_known(name)) continue;
      const std::vector<float> vector = vector_at(x, other);
      text += fmt::format("{} {} {:.2f} → {:.2f}", cosines++ == 0 ? " with" : ",", name,
                          vectors::cosine(old, vector), vectors::cosine(now, vector));
    }
    text += fmt::format("{} nearest words {} → {}\n", cosines == 0 ? "" : ";", nearest(old, word, pool),
                        nearest(now, word, pool));
  }
  return described == 0 ? "" : text;
}

}  // namespace regard::cli
