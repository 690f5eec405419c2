// 2. Attention without learned parameters: similarity → softmax → weighted sum. The word "Bank" has the same
// vector in both sentences before attention and different vectors after it. The output is computed in three
// ways that agree: word by word, with matrices, and with attention().
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "regard/math.h"
#include "regard/print.h"

using regard::Tensor;

// The vector of "Bank" is a published example. The vectors of the other words are invented, with four
// features (finance, growth, water, place), so that money and river differ in direction.
static const float kBank[] = {0.6F, 0.2F, 0.1F, 0.7F};
static const float kMoney[] = {0.9F, 0.4F, 0.0F, 0.1F};
static const float kGrows[] = {0.3F, 0.9F, 0.2F, 0.1F};
static const float kRiver[] = {0.0F, 0.2F, 0.9F, 0.6F};
static const float kFlows[] = {0.1F, 0.3F, 0.9F, 0.2F};

// Compute row `query` of the attention output word by word, without matrix products.
static Tensor attend_word_by_word(const Tensor& words, std::int64_t query) {
  const std::int64_t length = words.rows(), size = words.columns();
  Tensor scores = Tensor::empty({1, length});
  for (std::int64_t key = 0; key < length; ++key)
    scores.f32()[key] = regard::dot(words.slice_rows(query, query + 1), words.slice_rows(key, key + 1));
  const Tensor weights = regard::softmax(scores);
  Tensor sum = Tensor::zeros({1, size});
  for (std::int64_t key = 0; key < length; ++key)
    sum = regard::add(sum, regard::scale(words.slice_rows(key, key + 1), weights.f32()[key]));
  return sum;
}

static Tensor show(const std::vector<std::string>& names, const std::vector<const float*>& vectors) {
  Tensor words = Tensor::empty({3, 4});
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 4; ++c) words.row(r)[c] = vectors[static_cast<std::size_t>(r)][c];

  const Tensor scores = regard::matmul_transposed(words, words);  // similarity of every pair
  const Tensor weights = regard::softmax(scores);                 // each row sums to one
  const Tensor mixed = regard::matmul(weights, words);            // each word as a weighted mean of all words
  regard::PrintOptions pairs{.digits = 3, .row_names = names, .column_names = names};
  regard::PrintOptions features{
      .digits = 3, .row_names = names, .column_names = {"finance", "growth", "water", "place"}};
  std::printf("== %s %s %s\n", names[0].c_str(), names[1].c_str(), names[2].c_str());
  std::printf("%s", regard::matrix_text("words", words, features).c_str());
  std::printf("%s", regard::matrix_text("scores = words wordsᵀ", scores, pairs).c_str());
  std::printf("%s", regard::matrix_text("weights = softmax(scores)", weights, pairs).c_str());
  std::printf("%s", regard::matrix_text("weights words", mixed, features).c_str());

  float difference = 0;
  for (std::int64_t r = 0; r < 3; ++r)
    difference = std::max(
        difference, regard::largest_difference(attend_word_by_word(words, r), mixed.slice_rows(r, r + 1)));
  // The library's attention() gives the same result: queries, keys and values are the words, scale 1.
  const Tensor all = words.reshape({1, 1, 3, 4});
  const Tensor fused = regard::attention(all, all, all, {.scale = 1.0F}).reshape({3, 4});
  const float fused_difference = regard::largest_difference(fused, mixed);
  std::printf("word by word, as matrices, and regard::attention agree: %s\n\n",
              difference < 1e-6F && fused_difference < 1e-6F ? "yes" : "no");
  return mixed.slice_rows(1, 2).clone();
}

int main() {
  const Tensor money = show({"Money", "Bank", "Grows"}, {kMoney, kBank, kGrows});
  const Tensor river = show({"River", "Bank", "Flows"}, {kRiver, kBank, kFlows});
  Tensor bank = Tensor::of({kBank[0], kBank[1], kBank[2], kBank[3]});
  std::printf("Bank before, both times:   %s\n", regard::vector_text(bank).c_str());
  std::printf("Bank beside Money, Grows:  %s\n", regard::vector_text(money).c_str());
  std::printf("Bank beside River, Flows:  %s\n", regard::vector_text(river).c_str());
  std::printf("cosine between the two:    %.3f\n",
              static_cast<double>(regard::cosine_similarity(money, river)));
}
