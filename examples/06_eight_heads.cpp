// 6. Eight heads of 64 features in a model of 512: split, attend, concatenate, multiply by W_O. All shapes
// are printed.
#include <cstdio>
#include <cstring>

#include "regard/attention.h"
#include "regard/math.h"

using regard::Tensor;

// Reshape [length, heads · d] to [1, heads, length, d]: head h takes columns h·d to (h + 1)·d.
static Tensor split(const Tensor& x, std::int64_t heads) {
  const std::int64_t length = x.rows(), d = x.columns() / heads;
  Tensor parts = Tensor::empty({1, heads, length, d});
  for (std::int64_t h = 0; h < heads; ++h) {
    const Tensor columns = x.slice_columns(h * d, (h + 1) * d).clone();
    std::memcpy(parts.f32() + h * length * d, columns.f32(), columns.bytes());
  }
  return parts;
}

static Tensor concatenate(const Tensor& parts) {
  const std::int64_t heads = parts.shape()[1], length = parts.shape()[2], d = parts.shape()[3];
  Tensor whole = Tensor::empty({length, heads * d});
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t t = 0; t < length; ++t)
      std::memcpy(whole.row(t) + h * d, parts.f32() + (h * length + t) * d,
                  static_cast<std::size_t>(d) * sizeof(float));
  return whole;
}

static void say(const char* what, const Tensor& tensor) {
  std::printf("%-34s %s\n", what, tensor.shape().text().c_str());
}

int main() {
  constexpr std::int64_t kSize = 512, kHeads = 8, kLength = 9;
  const Tensor x = regard::random_normal({kLength, kSize}, 3, "x");
  const auto weight = [](const char* name) { return regard::random_normal({kSize, kSize}, 3, name, 0.044F); };
  const Tensor w_q = weight("W_Q"), w_k = weight("W_K"), w_v = weight("W_V"), w_o = weight("W_O");
  say("x [words, model]", x);
  say("W_Q (and W_K, W_V, W_O)", w_q);
  const Tensor q = split(regard::matmul(x, w_q), kHeads), k = split(regard::matmul(x, w_k), kHeads),
               v = split(regard::matmul(x, w_v), kHeads);
  say("Q in 8 heads of 512 / 8 = 64", q);
  const Tensor weights = regard::attention_weights(q, k);
  say("weights, one matrix per head", weights);
  const Tensor heads = regard::attention(q, k, v);
  say("each head's output", heads);
  const Tensor joined = concatenate(heads);
  say("heads concatenated", joined);
  const Tensor out = regard::matmul(joined, w_o);
  say("times W_O", out);

  float smallest = 2, largest = 0;
  for (std::int64_t r = 0; r < weights.rows(); ++r) {
    float sum = 0;
    for (std::int64_t c = 0; c < weights.columns(); ++c) sum += weights.f32()[r * weights.columns() + c];
    smallest = std::min(smallest, sum), largest = std::max(largest, sum);
  }
  std::printf("\nevery row of weights sums to one: %.4f to %.4f\n", static_cast<double>(smallest),
              static_cast<double>(largest));
  const Tensor first = weights.reshape({kHeads, kLength * kLength});
  std::printf(
      "the heads differ: the weights of heads 0 and 1 differ by up to %.3f\n",
      static_cast<double>(regard::largest_difference(first.slice_rows(0, 1), first.slice_rows(1, 2))));
  std::printf("parameters: 4 · 512 · 512 = %lld, the same as for one head of 512\n",
              static_cast<long long>(4 * kSize * kSize));

  // W_O combines the heads: without it, feature 0 of the output would depend on head 0 only.
  Tensor only_first = joined.clone();
  for (std::int64_t t = 0; t < kLength; ++t)
    for (std::int64_t c = kSize / kHeads; c < kSize; ++c) only_first.row(t)[c] = 0.0F;
  std::printf("heads 1 to 7 set to zero: output changes by up to %.3f\n",
              static_cast<double>(regard::largest_difference(out, regard::matmul(only_first, w_o))));
}
