// The public attention function is compared with a reference implementation in double. Its gradients are
// compared with central differences of the reference.
#include "regard/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "regard/error.h"
#include "regard/math.h"
#include "regard/threads.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

struct Case {
  Tensor q, k, v, mask, bias;
  AttentionOptions options;
};

// Batch 2, 4 query heads, 2 key/value heads, 3 queries, 5 keys; the value size differs from the key size.
Case make_case() {
  Case c;
  c.q = random_normal({2, 4, 3, 6}, 1, "q");
  c.k = random_normal({2, 2, 5, 6}, 1, "k");
  c.v = random_normal({2, 2, 5, 7}, 1, "v");
  c.mask = Tensor::zeros({2, 1, 3, 5}, DType::boolean);
  for (std::int64_t i = 0; i < c.mask.elements(); ++i) c.mask.u8()[i] = i % 4 != 1;
  for (std::int64_t i = 10; i < 15; ++i) c.mask.u8()[i] = 0;  // batch 0, query 2: all keys masked
  c.options.causal = true;
  c.options.softcap = 3.0f;
  c.options.mask = c.mask;
  return c;
}

// Reference implementation: one output element in double.
double plain(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t d) {
  const std::int64_t keys = c.k.shape()[2], queries = c.q.shape()[2], size = c.q.shape()[3], kv = h / 2;
  std::vector<double> scores;
  double maximum = -INFINITY, sum = 0, out = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    double score = 0;
    for (std::int64_t f = 0; f < size; ++f) score += c.q.at({b, h, i, f}) * c.k.at({b, kv, j, f});
    score /= std::sqrt(static_cast<double>(size));
    score = 3.0 * std::tanh(score / 3.0);
    if (c.bias.defined()) score += c.bias.at({0, h, i, j});
    const bool seen = c.mask.at({b, 0, i, j}) != 0 && j <= i + keys - queries;
    scores.push_back(seen ? score : -INFINITY);
    maximum = std::max(maximum, scores.back());
  }
  if (std::isinf(maximum)) return 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    const double weight = std::exp(scores[static_cast<std::size_t>(j)] - maximum);
    sum += weight;
    out += weight * c.v.at({b, kv, j, d});
  }
  return out / sum;
}

double plain_loss(const Case& c, const Tensor& r) {
  double loss = 0;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t d = 0; d < 7; ++d) loss += plain(c, b, h, i, d) * r.at({b, h, i, d});
  return loss;
}

TEST(PublicAttention, EqualsThePlainComputation) {
  Case c = make_case();
  c.bias = random_normal({1, 4, 3, 5}, 1, "bias");
  c.mask = Tensor::zeros({2, 1, 3, 5}, DType::boolean);
  for (std::int64_t i = 0; i < c.mask.elements(); ++i) c.mask.u8()[i] = 1;
  c.options.mask = {};
  c.options.bias = c.bias;
  const Tensor out = attention(c.q, c.k, c.v, c.options);
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 4; ++h)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t d = 0; d < 7; ++d) ASSERT_NEAR(out.at({b, h, i, d}), plain(c, b, h, i, d), 2e-6);
}

TEST(PublicAttention, ARowWithNothingToAttendToIsZero) {
  const Case c = make_case();
  const Tensor out = attention(c.q, c.k, c.v, c.options), weights = attention_weights(c.q, c.k, c.options);
  for (std::int64_t h = 0; h < 4; ++h) {
    for (std::int64_t d = 0; d < 7; ++d) EXPECT_EQ(out.at({0, h, 2, d}), 0.0);
    for (std::int64_t j = 0; j < 5; ++j) EXPECT_EQ(weights.at({0, h, 2, j}), 0.0);
  }
  double sum = 0;
  for (std::int64_t j = 0; j < 5; ++j) sum += weights.at({1, 3, 2, j});
  EXPECT_NEAR(sum, 1.0, 1e-6);
}

TEST(PublicAttention, GradientsAreThoseOfCentralDifferences) {
  Case c = make_case();
  const Tensor r = random_normal({2, 4, 3, 7}, 1, "r");
  const AttentionGradients gradients = attention_backward(c.q, c.k, c.v, r, c.options);
  const auto check = [&](Tensor& input, const Tensor& gradient) {
    for (std::int64_t i = 0; i < input.elements(); i += 3) {
      const float kept = input.f32()[i];
      constexpr float kStep = 1.0f / 1024;
      input.f32()[i] = kept + kStep;
      const double up = plain_loss(c, r);
      input.f32()[i] = kept - kStep;
      const double down = plain_loss(c, r);
      input.f32()[i] = kept;
      ASSERT_NEAR(gradient.f32()[i], (up - down) / (2.0 * static_cast<double>(kStep)), 2e-4);
    }
  };
  check(c.q, gradients.query);
  check(c.k, gradients.key);
  check(c.v, gradients.value);
}

TEST(PublicAttention, SameBitsForAnyThreadsAndAlone) {
  const Case c = make_case();
  set_threads(1);
  const Tensor one = attention(c.q, c.k, c.v, c.options);
  for (int threads : {2, 3, 8}) {
    set_threads(threads);
    EXPECT_TRUE(equal_bits(one, attention(c.q, c.k, c.v, c.options)));
  }
  set_threads(0);
  AttentionOptions alone = c.options;
  alone.mask = c.mask.slice_rows(1, 2);
  const Tensor second = attention(c.q.slice_rows(1, 2), c.k.slice_rows(1, 2), c.v.slice_rows(1, 2), alone);
  EXPECT_TRUE(equal_bits(one.slice_rows(1, 2), second));
}

TEST(PublicAttention, CausalAlignment) {
  const Tensor q = random_normal({1, 1, 2, 4}, 1, "q"), k = random_normal({1, 1, 4, 4}, 1, "k");
  const Tensor at_end = attention_weights(q, k, {.causal = true});
  EXPECT_GT(at_end.at({0, 0, 0, 2}), 0.0);
  EXPECT_EQ(at_end.at({0, 0, 0, 3}), 0.0);
  const Tensor at_start = attention_weights(q, k, {.causal = true, .alignment = CausalAlignment::start});
  EXPECT_EQ(at_start.at({0, 0, 0, 0}), 1.0);
  EXPECT_EQ(at_start.at({0, 0, 1, 2}), 0.0);
}

TEST(PublicAttention, SaysWhatDoesNotFit) {
  const Tensor q = Tensor::zeros({1, 4, 3, 6}), k = Tensor::zeros({1, 3, 5, 6}),
               v = Tensor::zeros({1, 3, 5, 6});
  EXPECT_REGARD_ERROR(attention(q, k, v), ErrorKind::usage, "multiple");
  EXPECT_REGARD_ERROR(attention(q, q, Tensor::zeros({1, 4, 2, 6})), ErrorKind::usage, "[1, 4, 2, 6]");
  EXPECT_REGARD_ERROR(attention(q, q, q, {.mask = Tensor::zeros({1, 1, 3, 4}, DType::boolean)}),
                      ErrorKind::usage, "mask");
  EXPECT_REGARD_ERROR(attention(Tensor::zeros({3, 6}), q, q), ErrorKind::usage, "four dimensions");
}

}  // namespace
}  // namespace regard::testing
