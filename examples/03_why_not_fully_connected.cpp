// 3. Why not a fully connected layer? The number of weights that one layer needs to map nine words of 2,000
// features to nine words: fully connected, convolution, recurrence, attention.
#include <cstdint>
#include <cstdio>

#include "regard/attention.h"
#include "regard/math.h"

int main() {
  using regard::Tensor;
  constexpr std::int64_t kWords = 9, kSize = 2000, kKernel = 3;

  // A fully connected layer reads one long input. It has one weight for each pair of an input and an output
  // number.
  constexpr std::int64_t kInputs = kWords * kSize;
  std::printf("fully connected: %lld words × %lld = %lld inputs\n", static_cast<long long>(kWords),
              static_cast<long long>(kSize), static_cast<long long>(kInputs));
  struct Row {
    const char* name;
    std::int64_t weights;
    const char* shares;
    const char* path;
    const char* any_length;
  };
  const Row rows[] = {
      {"fully connected", kInputs * kInputs, "nothing", "1", "no: 9 words, never 10"},
      {"convolution, width 3", kKernel * kSize * kSize, "one filter at every place", "words / 2", "yes"},
      {"recurrence (plain)", 2 * kSize * kSize, "one step at every place", "words, one after the other",
       "yes"},
      {"attention, one head", 4 * kSize * kSize, "W_Q W_K W_V W_O at every place", "1, all at once", "yes"},
  };
  std::printf("\n%-22s %15s   %-31s %-27s %s\n", "layer", "weights", "what is shared",
              "steps from word to word", "any length");
  for (const Row& row : rows)
    std::printf("%-22s %15lld   %-31s %-27s %s\n", row.name, static_cast<long long>(row.weights), row.shares,
                row.path, row.any_length);
  std::printf("fully connected needs %.1f times the weights of attention\n\n",
              static_cast<double>(kInputs * kInputs) / static_cast<double>(4 * kSize * kSize));

  // The length of a fully connected layer is fixed: the matrix for nine words (of 4 features here) cannot be
  // applied to ten.
  const Tensor layer = regard::random_normal({9 * 4, 9 * 4}, 1, "fully connected");
  const Tensor ten_words = regard::random_normal({10, 4}, 1, "words");
  try {
    (void)regard::matmul(ten_words.reshape({1, 40}), layer);
    std::printf("the layer accepted ten words\n");
  } catch (const std::exception& error) {
    std::printf("ten words into the layer for nine: %s\n", error.what());
  }

  // The same attention parameters apply to any number of words.
  const Tensor w_q = regard::random_normal({4, 4}, 1, "W_Q"), w_k = regard::random_normal({4, 4}, 1, "W_K"),
               w_v = regard::random_normal({4, 4}, 1, "W_V");
  for (const std::int64_t words : {3, 9, 10, 50}) {
    const Tensor x = regard::random_normal({words, 4}, 1, "words");
    const regard::Shape one_head{1, 1, words, 4};
    const Tensor out =
        regard::attention(regard::matmul(x, w_q).reshape(one_head), regard::matmul(x, w_k).reshape(one_head),
                          regard::matmul(x, w_v).reshape(one_head));
    std::printf("attention over %2lld words: out %s with the same 3 × 16 weights\n",
                static_cast<long long>(words), out.shape().text().c_str());
  }
}
