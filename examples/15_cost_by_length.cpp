// 15. The cost of a text of n words: multiplications and processor time of one attention layer (grows with
// n²) and of one plain recurrent layer (grows with n, but one step after another). One JSON object per line;
// tools/make_claims.sh collects them for docs/why-attention.md.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "regard/attention.h"
#include "regard/math.h"

using regard::Tensor;

// Return the smallest processor time of `repeats` calls, in milliseconds.
template <typename Work>
static double milliseconds(int repeats, Work work) {
  double least = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();
    work();
    least = std::min(least, 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

int main() {
  constexpr std::int64_t kSize = 64;
  const Tensor w = regard::random_normal({kSize, kSize}, 1, "W", 0.1F);
  for (const std::int64_t words : {64, 256, 1024, 4096}) {
    const Tensor x = regard::random_normal({words, kSize}, 1, "x", 0.5F);
    const regard::Shape one_head{1, 1, words, kSize};
    const double attention = milliseconds(3, [&] {
      const Tensor q = regard::matmul(x, w).reshape(one_head), k = regard::matmul(x, w).reshape(one_head),
                   v = regard::matmul(x, w).reshape(one_head);
      (void)regard::matmul(regard::attention(q, k, v).reshape({words, kSize}), w);
    });
    const double recurrence = milliseconds(3, [&] {
      const Tensor inputs = regard::matmul(x, w);  // one product for all words
      Tensor h = Tensor::zeros({1, kSize});
      for (std::int64_t t = 0; t < words; ++t) {
        h = regard::add(regard::matmul(h, w), inputs.slice_rows(t, t + 1));
        for (std::int64_t i = 0; i < kSize; ++i) h.f32()[i] = std::max(0.0F, h.f32()[i]);
      }
    });
    const double n = static_cast<double>(words), d = static_cast<double>(kSize);
    std::printf(
        "{\"words\": %lld, \"attention_multiplications\": %.0f, \"recurrent_multiplications\": %.0f, "
        "\"attention_steps\": 1, \"recurrent_steps\": %lld, \"attention_ms\": %.3g, \"recurrent_ms\": "
        "%.3g}\n",
        static_cast<long long>(words), 4 * n * d * d + 2 * n * n * d, 2 * n * d * d,
        static_cast<long long>(words), attention, recurrence);
  }
}
