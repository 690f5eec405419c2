// Operations that read or store bf16: feed-forward layers compared with double, in-place operations and
// products compared with the same operation on the widened values.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "kernels/bf16_fixture.h"
#include "ops/bf16_store.h"
#include "ops/feed_forward.h"
#include "ops/rotary.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

class Bf16Operations : public EachBf16Path {
 protected:
  void SetUp() override {
    EachBf16Path::SetUp();
    kernels::set_bf16_path(kernels::Bf16Path::emulated);
    begin();
  }
  void begin(bool training = false) {
    tape_.begin({.record = true, .training = training, .seed = 3, .precision = kernels::Precision::bf16});
  }
  static Tensor random(Shape shape, std::uint64_t seed) {
    RandomStream stream({seed, 0, place_of("bf16_operations_test")});
    Tensor values = Tensor::empty(shape);
    constexpr std::int64_t kDrawn = 997;  // larger tensors repeat these values
    for (std::int64_t i = 0; i < values.elements(); ++i)
      values.f32()[i] = i < kDrawn ? static_cast<float>(stream.next_normal()) : values.f32()[i - kDrawn];
    return values;
  }
  // Return a variable that stores the rounded values.
  Var stored(const Tensor& values) {
    Var variable = ops::make_bf16(tape_, values.shape(), false);
    ops::store_rounded(tape_, values.f32(), variable->value);
    return variable;
  }
  std::vector<float> numbers(const Tensor& values) {
    const float* wide = ops::widened(tape_, values);
    return {wide, wide + values.elements()};
  }
  // Return the values rounded to bf16.
  std::vector<float> rounded(const Tensor& values) { return numbers(stored(values)->value); }

  ThreadPool pool_{2};
  Arena arena_;
  Tape tape_{pool_, arena_};
};

// Values are widened in chunks of 2¹⁸.
TEST_P(Bf16Operations, ManyValuesAreMultipliedInChunks) {
  constexpr std::int64_t kCount = (1 << 18) + 1001;
  const Tensor x = random({kCount}, 1), factor = random({kCount}, 2);
  Var a = stored(x), b = stored(factor), y = ops::make_bf16(tape_, {kCount}, false);
  const std::vector<float> wide_a = numbers(a->value), wide_b = numbers(b->value);
  ops::multiply_stored(tape_, a->value, b->value, y->value);
  Tensor expected = Tensor::empty({kCount});
  for (std::size_t i = 0; i < kCount; ++i) expected.f32()[i] = wide_a[i] * wide_b[i];
  EXPECT_EQ(numbers(y->value), rounded(expected));
  const Tensor to = Tensor::zeros({kCount});
  for (const bool accumulate : {false, true}) {
    ops::multiply_stored(tape_, x.f32(), b->value, {to.f32(), accumulate});
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const float once = x.f32()[i] * wide_b[i];
      wrong += std::abs(to.f32()[i] - (accumulate ? 2.0f : 1.0f) * once) > 1e-6f * std::abs(once) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);
  }
  Tensor dy = factor.clone(), reference = factor.clone();
  ops::activate_backward_stored(tape_, kernels::Activation::tanh, ops::bf16_data(a->value), dy.f32(), kCount);
  kernels::activate_backward(pool_, kernels::Activation::tanh, wide_a.data(), reference.f32(),
                             reference.f32(), kCount);
  EXPECT_EQ(numbers(dy), numbers(reference));
}

// In place, dropout and rotary positions read and store rounded values.
TEST_P(Bf16Operations, InPlaceOperationsRoundTheirResults) {
  begin(true);
  RaggedBuffer batch;
  batch.add(4, 0), batch.add(2, 1);
  const Tensor x = random({6, 8}, 3);
  Var halves = stored(x), wide = tape_.make({6, 8}, false);
  const std::vector<float> start = numbers(halves->value);
  std::copy(start.begin(), start.end(), wide->value.f32());
  ops::dropout(tape_, halves, batch.view(), {0.5f, 7});
  ops::dropout(tape_, wide, batch.view(), {0.5f, 7});
  EXPECT_EQ(numbers(halves->value), rounded(wide->value));
  EXPECT_NE(numbers(halves->value), start);
  ops::RotaryTable table;
  table.cosine = Tensor::empty({4, 2}), table.sine = Tensor::empty({4, 2});
  for (std::int64_t i = 0; i < 8; ++i)
    table.cosine.f32()[i] = std::cos(static_cast<float>(i)),
    table.sine.f32()[i] = std::sin(static_cast<float>(i));
  const std::vector<float> before = numbers(halves->value);
  std::copy(before.begin(), before.end(), wide->value.f32());
  ops::rotary(tape_, halves, {0, 2, 4}, table, batch.view().positions);
  ops::rotary(tape_, wide, {0, 2, 4}, table, batch.view().positions);
  EXPECT_EQ(numbers(halves->value), rounded(wide->value));
  EXPECT_NE(numbers(halves->value), before);
}

using Matrix = std::vector<std::vector<double>>;

Matrix matrix_of(const Tensor& values, bool transposed = false) {
  const std::int64_t rows = transposed ? values.columns() : values.rows(),
                     columns = transposed ? values.rows() : values.columns();
  Matrix result(static_cast<std::size_t>(rows), std::vector<double>(static_cast<std::size_t>(columns)));
  for (std::size_t r = 0; r < result.size(); ++r)
    for (std::size_t c = 0; c < result[r].size(); ++c)
      result[r][c] =
          static_cast<double>(values.row(static_cast<std::int64_t>(transposed ? c : r))[transposed ? r : c]);
  return result;
}
// Return a bᵀ.
Matrix times(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b.size(), 0.0));
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t o = 0; o < b.size(); ++o)
      for (std::size_t i = 0; i < a[r].size(); ++i) c[r][o] += a[r][i] * b[o][i];
  return c;
}
Matrix turned(const Matrix& a) {
  Matrix b(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t c = 0; c < a[r].size(); ++c) b[c][r] = a[r][c];
  return b;
}
void expect_close(const char* name, const Tensor& ours, const Matrix& expected, bool transposed = false) {
  const Matrix values = matrix_of(ours, transposed);
  ASSERT_EQ(values.size(), expected.size()) << name;
  for (std::size_t r = 0; r < values.size(); ++r)
    for (std::size_t c = 0; c < values[r].size(); ++c)
      EXPECT_NEAR(values[r][c], expected[r][c], 0.06) << name << " " << r << " " << c;
}

TEST_P(Bf16Operations, FeedForwardHasItsGradients) {
  constexpr std::int64_t kTokens = 7, kIn = 5, kInner = 6, kOut = 4;
  RaggedBuffer batch;
  batch.add(kTokens, 0);
  for (const bool transposed : {false, true}) {
    begin();
    const auto shape = [&](std::int64_t rows, std::int64_t columns) {
      return transposed ? Shape{columns, rows} : Shape{rows, columns};
    };
    const Tensor x = random({kTokens, kIn}, 1), up = random(shape(kInner, kIn), 2),
                 down = random(shape(kOut, kInner), 3), residual = random({kTokens, kOut}, 4),
                 up_bias = random({kInner}, 5), down_bias = random({kOut}, 6),
                 dy = random({kTokens, kOut}, 7);
    ops::FeedForwardWeights weights;
    weights.up = tape_.input(up, true), weights.up_bias = tape_.input(up_bias, true);
    weights.down = tape_.input(down, true), weights.down_bias = tape_.input(down_bias, true);
    weights.transposed = transposed, weights.activation = kernels::Activation::tanh;
    Var input = tape_.input(x, true), added = tape_.input(residual, true);
    Var out = ops::feed_forward(tape_, input, weights, {batch.view(), {}}, added);
    // h = tanh(x upᵀ + up_bias), out = h downᵀ + down_bias + residual
    const Matrix rows = matrix_of(x), u = matrix_of(up, transposed), d = matrix_of(down, transposed);
    Matrix h = times(rows, u);
    for (auto& row : h)
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = std::tanh(row[i] + static_cast<double>(up_bias.f32()[i]));
    Matrix expected = times(h, d);
    for (std::size_t r = 0; r < expected.size(); ++r)
      for (std::size_t i = 0; i < expected[r].size(); ++i)
        expected[r][i] +=
            static_cast<double>(down_bias.f32()[i] + residual.row(static_cast<std::int64_t>(r))[i]);
    expect_close("out", out->value, expected);
    const Tape::Gradient start = tape_.gradient(out);
    std::copy_n(dy.f32(), dy.elements(), start.data);
    tape_.backward(out);
    const Matrix slope = matrix_of(dy);
    Matrix inner = times(slope, turned(d));
    for (std::size_t r = 0; r < inner.size(); ++r)
      for (std::size_t i = 0; i < inner[r].size(); ++i) inner[r][i] *= 1 - h[r][i] * h[r][i];
    const Matrix ones(1, std::vector<double>(kTokens, 1.0));
    expect_close("residual", added->gradient, slope);
    expect_close("down", weights.down->gradient, times(turned(slope), turned(h)), transposed);
    expect_close("down_bias", weights.down_bias->gradient.reshape({1, kOut}), times(ones, turned(slope)));
    expect_close("up", weights.up->gradient, times(turned(inner), turned(rows)), transposed);
    expect_close("up_bias", weights.up_bias->gradient.reshape({1, kInner}), times(ones, turned(inner)));
    expect_close("x", input->gradient, times(inner, turned(u)));
  }
}

TEST_P(Bf16Operations, FeedForwardRefusesOtherShapes) {
  begin(true);
  RaggedBuffer batch;
  batch.add(3, 0);
  const auto zeros = [&](Shape shape) { return tape_.make(shape, false); };
  const auto refused = [&](const char* message, auto change, float rate = 0.0f) {
    Var x = zeros({3, 4}), residual = zeros({3, 5});
    ops::FeedForwardWeights weights;
    weights.up = zeros({6, 4}), weights.down = zeros({5, 6});
    change(x, weights, residual);
    EXPECT_REGARD_ERROR(ops::feed_forward(tape_, x, weights, {batch.view(), {rate, 1}}, residual),
                        ErrorKind::usage, message);
  };
  using Weights = ops::FeedForwardWeights;
  const char* const shapes =
      "feed_forward: the shapes do not match (expected x [tokens, in], up [hidden, in], down [out, hidden], "
      "found x ";
  refused(shapes, [&](Var& x, Weights&, Var&) { x = zeros({3, 3}); });
  refused(shapes, [&](Var&, Weights& w, Var&) { w.down = zeros({5, 7}); });
  refused("expected x [tokens, in], up [in, hidden], down [hidden, out], found x [3, 4]",
          [&](Var&, Weights& w, Var&) { w.transposed = true; });
  refused("feed_forward: up_bias is not", [&](Var&, Weights& w, Var&) { w.up_bias = zeros({5}); });
  refused("feed_forward: down_bias is not", [&](Var&, Weights& w, Var&) { w.down_bias = zeros({6}); });
  for (const Shape& wrong : {Shape{2, 5}, Shape{3, 6}})
    refused("feed_forward: the residual has a wrong shape (expected [3, 5], found residual [",
            [&](Var&, Weights&, Var& residual) { residual = zeros(wrong); });
  refused(
      "feed_forward: x has a wrong number of rows (expected 3 rows, one for each token of the batch, found "
      "x [2, 4])",
      [&](Var& x, Weights&, Var& residual) {
        x = zeros({2, 4}), residual = nullptr;
      },
      0.5f);
}

REGARD_EACH_ISA(Bf16Operations);

}  // namespace
}  // namespace regard::testing
