#include <limits>

#include "isa_fixture.h"
#include "kernels/rows.h"
#include "ops/plain/cross_entropy.h"
#include "ops/plain/softmax.h"
#include "row_data.h"

namespace regard::kernels {
namespace {

using namespace regard::testing;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Softmax : public EachIsa {};
REGARD_EACH_ISA(Softmax);

using Forward = void (*)(ThreadPool&, const float*, float*, std::int64_t, std::int64_t);
using Backward = void (*)(ThreadPool&, const float*, const float*, float*, std::int64_t, std::int64_t);

std::vector<float> apply(ThreadPool& pool, Forward forward, const std::vector<float>& x,
                         std::int64_t columns) {
  std::vector<float> y(x.size());
  forward(pool, x.data(), y.data(), static_cast<std::int64_t>(x.size()) / columns, columns);
  return y;
}

TEST_P(Softmax, ForwardAndBackwardMatchDouble) {
  ThreadPool pool(2);
  for (std::int64_t columns : column_counts()) {
    const std::int64_t rows = columns > 1000 ? 2 : 5;
    const std::vector<float> x = random_floats(rows * columns, "x", 3.0f);
    const std::vector<float> dy = random_floats(rows * columns, "dy");
    const std::vector<double> wide = to_doubles(x), wide_dy = to_doubles(dy);
    std::vector<double> truth(x.size()), truth_dx(x.size());
    std::vector<float> dx(x.size());
    const std::string what = std::to_string(columns) + " columns";

    plain::softmax(wide.data(), truth.data(), rows, columns);
    std::vector<float> y = apply(pool, softmax, x, columns);
    expect_close(y, truth, 1e-6, "softmax " + what);
    plain::softmax_backward(truth.data(), wide_dy.data(), truth_dx.data(), rows, columns);
    softmax_backward(pool, y.data(), dy.data(), dx.data(), rows, columns);
    expect_close(dx, truth_dx, 2e-6, "softmax backward " + what);

    plain::log_softmax(wide.data(), truth.data(), rows, columns);
    y = apply(pool, log_softmax, x, columns);
    expect_close(y, truth, 1e-6, "log-softmax " + what);
    plain::log_softmax_backward(truth.data(), wide_dy.data(), truth_dx.data(), rows, columns);
    log_softmax_backward(pool, y.data(), dy.data(), dx.data(), rows, columns);
    expect_close(dx, truth_dx, 1e-5, "log-softmax backward " + what);
  }
}

TEST_P(Softmax, SpecialRows) {
  ThreadPool pool(1);
  for (std::int64_t columns : {1, 3, 16, 17, 50}) {
    const auto size = static_cast<std::size_t>(columns);
    const std::vector<float> lowest(size, -kInfinity);
    for (float value : apply(pool, softmax, lowest, columns)) EXPECT_EQ(value, 0.0f);
    for (float value : apply(pool, log_softmax, lowest, columns)) EXPECT_EQ(value, -kInfinity);

    const std::vector<float> equal(size, 1e30f);
    for (float value : apply(pool, softmax, equal, columns))
      EXPECT_FLOAT_EQ(value, 1.0f / static_cast<float>(columns));

    std::vector<float> huge(size, -3e38f);
    huge.back() = 3e38f;
    const std::vector<float> y = apply(pool, softmax, huge, columns);
    EXPECT_EQ(y.back(), 1.0f);  // exp(0) is exactly 1
    if (columns > 1) {
      EXPECT_EQ(y.front(), 0.0f);
    }

    std::vector<float> masked(size, -kInfinity);
    masked.front() = 2.0f;
    EXPECT_EQ(apply(pool, softmax, masked, columns).front(), 1.0f);
    EXPECT_EQ(apply(pool, log_softmax, masked, columns).front(), 0.0f);

    std::vector<float> poisoned(size, 0.0f);
    poisoned.front() = std::nanf("");
    for (float value : apply(pool, softmax, poisoned, columns)) EXPECT_TRUE(std::isnan(value));
  }
}

// Columns of −∞ after the end of a row (a masked cache) must not change the bits of the other columns.
TEST_P(Softmax, MaskedColumnsChangeNoBit) {
  ThreadPool pool(1);
  for (std::int64_t columns = 1; columns <= 70; ++columns) {
    const std::vector<float> x = random_floats(columns, "row", 4.0f);
    std::vector<float> longer = x;
    longer.resize(200, -kInfinity);
    std::vector<float> from_longer = apply(pool, softmax, longer, 200);
    from_longer.resize(x.size());
    EXPECT_TRUE(same_bits(apply(pool, softmax, x, columns), from_longer)) << columns;
  }
}

TEST_P(Softmax, ARowDependsOnThatRowOnly) {
  ThreadPool pool(2);
  const std::int64_t rows = 301, columns = 77;
  const std::vector<float> x = random_floats(rows * columns, "x", 3.0f);
  const std::vector<float> all = apply(pool, softmax, x, columns);
  for (std::int64_t row : {0, 1, 106, 107, 300}) {
    const std::vector<float> one(x.begin() + row * columns, x.begin() + (row + 1) * columns);
    const std::vector<float> expected(all.begin() + row * columns, all.begin() + (row + 1) * columns);
    EXPECT_TRUE(same_bits(apply(pool, softmax, one, columns), expected)) << row;
  }
  expect_same_for_any_threads([&](ThreadPool& any) { return apply(any, softmax, x, columns); }, "softmax");
}

TEST_P(Softmax, CrossEntropyMatchesDouble) {
  ThreadPool pool(2);
  for (std::int64_t classes : column_counts()) {
    for (float smoothing : {0.0f, 0.1f}) {
      const std::int64_t rows = classes > 1000 ? 3 : 7;
      const std::vector<float> logits = random_floats(rows * classes, "logits", 4.0f);
      std::vector<std::int32_t> targets;
      for (std::int64_t row = 0; row < rows; ++row)
        targets.push_back(row == 1 ? -100 : static_cast<std::int32_t>(row * 131 % classes));
      const plain::CrossEntropy shape{rows, classes, static_cast<double>(smoothing), -100};
      const std::vector<double> wide = to_doubles(logits);
      std::vector<double> truth(targets.size()), truth_gradient(logits.size());
      plain::cross_entropy(shape, wide.data(), targets.data(), truth.data());
      plain::cross_entropy_backward(shape, wide.data(), targets.data(), 0.25, truth_gradient.data());

      std::vector<float> loss(targets.size()), lse(targets.size()), gradient(logits.size());
      cross_entropy(pool, logits.data(), targets.data(), rows, classes, smoothing, -100, loss.data(),
                    lse.data());
      cross_entropy_backward(pool, logits.data(), lse.data(), targets.data(), rows, classes, smoothing, -100,
                             0.25f, gradient.data());
      const std::string what = std::to_string(classes) + " classes";
      expect_close(loss, truth, 2e-6, "loss, " + what);
      expect_close(gradient, truth_gradient, 1e-6, "gradient, " + what);
      EXPECT_EQ(loss[1], 0.0f);

      // The gradient may overwrite the logits.
      std::vector<float> shared = logits;
      cross_entropy_backward(pool, shared.data(), lse.data(), targets.data(), rows, classes, smoothing, -100,
                             0.25f, shared.data());
      EXPECT_TRUE(same_bits(shared, gradient)) << what;
    }
  }
}

// Logits of −∞ at other classes (a masked vocabulary) must not affect a loss without label smoothing.
TEST_P(Softmax, CrossEntropyWithMaskedClasses) {
  ThreadPool pool(1);
  const std::vector<float> logits{1.0f, -kInfinity, 2.0f, -kInfinity};
  const std::int32_t target = 2;
  float loss = 0.0f, lse = 0.0f;
  std::vector<float> gradient(4);
  cross_entropy(pool, logits.data(), &target, 1, 4, 0.0f, -100, &loss, &lse);
  EXPECT_NEAR(loss, std::log1p(std::exp(-1.0)), 1e-6);
  cross_entropy_backward(pool, logits.data(), &lse, &target, 1, 4, 0.0f, -100, 1.0f, gradient.data());
  EXPECT_EQ(gradient[1], 0.0f);
  EXPECT_NEAR(gradient[0] + gradient[2], 0.0, 1e-6);
}

TEST_P(Softmax, LogSumExpMatchesDouble) {
  for (std::int64_t columns : column_counts()) {
    const std::vector<float> x = random_floats(4 * columns, "x", 5.0f);
    const std::vector<double> wide = to_doubles(x);
    std::vector<double> truth;
    for (std::int64_t row = 0; row < 4; ++row)
      truth.push_back(plain::log_sum_exp(wide.data() + row * columns, columns));
    ThreadPool pool(2);
    std::vector<float> lse(4);
    log_sum_exp(pool, x.data(), lse.data(), 4, columns);
    expect_close(lse, truth, 1e-6, std::to_string(columns) + " columns");
  }
}

TEST_P(Softmax, TopKIsASortCutShort) {
  ThreadPool pool(2);
  for (std::int64_t columns : column_counts()) {
    std::vector<float> x = random_floats(3 * columns, "x", 2.0f);
    for (float& value : x) value = std::round(value * 8.0f);  // many equal values
    if (columns > 4) x[1] = std::nanf(""), x[2] = -kInfinity, x[3] = kInfinity;
    for (std::int64_t k : {1, 2, 5, 40, 300}) {
      std::vector<float> values(static_cast<std::size_t>(3 * k));
      std::vector<std::int32_t> indices(values.size());
      top_k(pool, x.data(), 3, columns, k, values.data(), indices.data());
      for (std::size_t row = 0; row < 3; ++row) {
        const float* entries = x.data() + static_cast<std::int64_t>(row) * columns;
        std::vector<std::int32_t> order;
        for (std::int32_t c = 0; c < columns; ++c)
          if (entries[c] > -kInfinity) order.push_back(c);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int32_t a, std::int32_t b) { return entries[a] > entries[b]; });
        order.resize(static_cast<std::size_t>(k), -1);
        for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
          const std::size_t at = row * static_cast<std::size_t>(k) + i;
          ASSERT_EQ(indices[at], order[i]) << columns << " columns, place " << i << " of " << k;
          ASSERT_EQ(values[at], order[i] < 0 ? -kInfinity : entries[order[i]]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace regard::kernels
