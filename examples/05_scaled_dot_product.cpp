// 5. Why divide by √d_k: the effect of the size of the scores on the softmax and its gradient, for nine words
// of 12 dimensions. The example also shows when the score matrix is symmetric.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "regard/math.h"
#include "regard/print.h"

using regard::Tensor;

static double variance(const Tensor& x) {
  double mean = 0, squares = 0;
  for (std::int64_t i = 0; i < x.elements(); ++i)
    mean += static_cast<double>(x.f32()[i]) / static_cast<double>(x.elements());
  for (std::int64_t i = 0; i < x.elements(); ++i)
    squares += std::pow(static_cast<double>(x.f32()[i]) - mean, 2);
  return squares / static_cast<double>(x.elements());
}

// The derivative of the softmax is w_i (δ_ij − w_j). Return its mean absolute value over all pairs.
static double mean_gradient(const Tensor& weights) {
  double sum = 0;
  for (std::int64_t r = 0; r < weights.rows(); ++r)
    for (std::int64_t i = 0; i < weights.columns(); ++i)
      for (std::int64_t j = 0; j < weights.columns(); ++j)
        sum += std::fabs(static_cast<double>(weights.row(r)[i]) *
                         ((i == j ? 1.0 : 0.0) - static_cast<double>(weights.row(r)[j])));
  return sum / static_cast<double>(weights.rows() * weights.columns() * weights.columns());
}

static bool symmetric(const Tensor& x) {
  return regard::largest_difference(x, regard::transpose(x)) == 0.0F;
}

int main() {
  const std::vector<std::string> words = {"the",  "quick", "brown", "fox", "jumps",
                                          "over", "the",   "lazy",  "dog"};
  const Tensor x = regard::random_normal({9, 12}, 7, "words"),
               w_q = regard::random_normal({12, 12}, 7, "W_Q", 0.3F),
               w_k = regard::random_normal({12, 12}, 7, "W_K", 0.3F);
  const Tensor q = regard::matmul(x, w_q), k = regard::matmul(x, w_k);
  const Tensor scores = regard::matmul_transposed(q, k);
  // 12.0F, so that the square root is computed in f32.
  const Tensor scaled = regard::scale(scores, 1.0F / std::sqrt(12.0F));
  const regard::PrintOptions options{.digits = 2, .row_names = words, .column_names = words};
  std::printf("%s", regard::matrix_text("softmax(Q Kᵀ / √12)", regard::softmax(scaled), options).c_str());

  // If queries and keys have unit variance, the variance of their dot product grows with d_k. The variance of
  // the scaled dot product does not grow.
  std::printf("\n%5s  %14s  %14s  %16s  %16s\n", "d_k", "var(q·k)", "var(q·k/√d_k)", "gradient, plain",
              "gradient, scaled");
  for (const std::int64_t size : {12, 64, 512, 2048}) {
    const Tensor queries = regard::random_normal({64, size}, 7, "queries"),
                 keys = regard::random_normal({64, size}, 7, "keys");
    const Tensor plain = regard::matmul_transposed(queries, keys);
    const Tensor fair = regard::scale(plain, 1.0F / std::sqrt(static_cast<float>(size)));
    std::printf("%5lld  %14.1f  %14.2f  %16.5f  %16.5f\n", static_cast<long long>(size), variance(plain),
                variance(fair), mean_gradient(regard::softmax(plain)), mean_gradient(regard::softmax(fair)));
  }

  std::printf("\nsymmetric?        before the softmax   after it\n");
  const Tensor own = regard::matmul_transposed(q, q);
  std::printf("Q = K (Q Qᵀ)      %-18s   %s\n", symmetric(own) ? "yes" : "no",
              symmetric(regard::softmax(own)) ? "yes" : "no");
  std::printf("Q ≠ K (Q Kᵀ)      %-18s   %s\n", symmetric(scores) ? "yes" : "no",
              symmetric(regard::softmax(scores)) ? "yes" : "no");

  // The softmax subtracts the maximum of the scores first, because e^x overflows a float for x above about
  // 88.72.
  std::printf("\ne^88.72 = %g, e^88.73 = %g as floats\n", static_cast<double>(std::exp(88.72F)),
              static_cast<double>(std::exp(88.73F)));
  std::printf("softmax([1000, 999]) with the maximum subtracted = %s\n",
              regard::vector_text(regard::softmax(Tensor::of({1, 2}, {1000.0F, 999.0F}))).c_str());
}
