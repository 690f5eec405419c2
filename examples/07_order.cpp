// 7. Attention alone ignores order. Each word gets the same vector in "The man beats the boy" and in "The boy
// beats the man"; with sinusoidal positions, the vectors differ.
#include <cstdio>
#include <string>
#include <vector>

#include "regard/attention.h"
#include "regard/math.h"
#include "regard/print.h"

using regard::Tensor;

static constexpr std::int64_t kSize = 16;

static Tensor embed(const std::vector<std::string>& words, bool with_positions) {
  Tensor x = Tensor::empty({static_cast<std::int64_t>(words.size()), kSize});
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Tensor vector = regard::random_normal({kSize}, 5, words[i]);  // the same vector at every position
    for (std::int64_t f = 0; f < kSize; ++f) x.row(static_cast<std::int64_t>(i))[f] = vector.f32()[f];
  }
  return with_positions ? regard::add(x, regard::sinusoidal_positions(x.rows(), kSize)) : x;
}

static Tensor attend(const Tensor& x) {
  const Tensor w_q = regard::random_normal({kSize, kSize}, 5, "W_Q", 0.25F),
               w_k = regard::random_normal({kSize, kSize}, 5, "W_K", 0.25F);
  const regard::Shape one_head{1, 1, x.rows(), kSize};
  const Tensor values = x.reshape(one_head);
  return regard::attention(regard::matmul(x, w_q).reshape(one_head), regard::matmul(x, w_k).reshape(one_head),
                           values)
      .reshape({x.rows(), kSize});
}

int main() {
  const std::vector<std::string> first = {"the", "man", "beats", "the", "boy"},
                                 second = {"the", "boy", "beats", "the", "man"};
  std::printf("the man beats the boy / the boy beats the man: largest difference of each word's vector\n\n");
  std::printf("%-8s %18s %18s\n", "word", "without positions", "with positions");
  const Tensor plain_a = attend(embed(first, false)), plain_b = attend(embed(second, false));
  const Tensor placed_a = attend(embed(first, true)), placed_b = attend(embed(second, true));
  // positions of man, beats, boy in each sentence
  const std::int64_t where_a[] = {1, 2, 4}, where_b[] = {4, 2, 1};
  const char* names[] = {"man", "beats", "boy"};
  for (int i = 0; i < 3; ++i) {
    const std::int64_t a = where_a[i], b = where_b[i];
    std::printf("%-8s %18.6f %18.6f\n", names[i],
                static_cast<double>(
                    regard::largest_difference(plain_a.slice_rows(a, a + 1), plain_b.slice_rows(b, b + 1))),
                static_cast<double>(regard::largest_difference(placed_a.slice_rows(a, a + 1),
                                                               placed_b.slice_rows(b, b + 1))));
  }
  std::printf(
      "\nWithout positions the second result is the first with its rows permuted (up to the rounding of "
      "sums\n"
      "taken in another order), so it does not show who beats whom. With positions, the vector of a word\n"
      "depends on its place in the sentence.\n\n");

  const Tensor positions = regard::sinusoidal_positions(5, 8);
  std::printf("%s", regard::matrix_text("sinusoidal positions", positions,
                                        {.digits = 3,
                                         .column_names = {"sin 1", "cos 1", "sin 2", "cos 2", "sin 3",
                                                          "cos 3", "sin 4", "cos 4"}})
                        .c_str());
  // The dot product of two positions depends only on their distance, so a head can attend to the previous
  // word at every position.
  std::printf("\nposition p · position p + 1, of 64 features:");
  const Tensor many = regard::sinusoidal_positions(40, 64);
  for (const std::int64_t p : {0, 1, 10, 38})
    std::printf("  p = %lld: %.4f", static_cast<long long>(p),
                static_cast<double>(regard::dot(many.slice_rows(p, p + 1), many.slice_rows(p + 1, p + 2))));
  std::printf("\n");
}
