#include "isa_fixture.h"
#include "kernels/rows.h"
#include "ops/plain/activation.h"
#include "ops/plain/dropout.h"
#include "ops/plain/rotary.h"
#include "row_data.h"

namespace regard::kernels {
namespace {

using namespace regard::testing;

class Elementwise : public EachIsa {};
REGARD_EACH_ISA(Elementwise);

TEST_P(Elementwise, ArithmeticIsExact) {
  ThreadPool pool(2);
  for (std::int64_t count : {0, 1, 7, 15, 16, 17, 63, 100, 20001}) {
    const std::vector<float> a = random_floats(count, "a"), b = random_floats(count, "b");
    std::vector<float> y(a.size());
    add(pool, a.data(), b.data(), y.data(), count);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], a[i] + b[i]);
    multiply(pool, a.data(), b.data(), y.data(), count);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], a[i] * b[i]);
    y = b;
    multiply_add(pool, a.data(), b.data(), y.data(), count);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], std::fma(a[i], b[i], b[i]));
    scale(pool, a.data(), 0.3f, y.data(), count);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], a[i] * 0.3f);
    y = b;
    axpy(pool, 0.3f, a.data(), y.data(), count);
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(y[i], std::fma(0.3f, a[i], b[i]));
  }
}

constexpr Activation kActivations[] = {Activation::none,    Activation::relu,      Activation::gelu,
                                       Activation::silu,    Activation::gelu_tanh, Activation::tanh,
                                       Activation::sigmoid, Activation::quick_gelu};

TEST_P(Elementwise, ActivationsMatchDouble) {
  ThreadPool pool(2);
  constexpr std::int64_t kCount = 20003;
  std::vector<float> x(kCount), y(kCount), dx(kCount);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.002f - 20.0f;
  const std::vector<float> dy(kCount, 1.0f);
  for (Activation kind : kActivations) {
    std::vector<double> truth(kCount), slope(kCount);
    for (std::size_t i = 0; i < x.size(); ++i) {
      truth[i] = plain::activation(kind, static_cast<double>(x[i]));
      slope[i] = plain::activation_derivative(kind, static_cast<double>(x[i]));
    }
    activate(pool, kind, x.data(), y.data(), kCount);
    activate_backward(pool, kind, x.data(), dy.data(), dx.data(), kCount);
    const std::string what = "activation " + std::to_string(static_cast<int>(kind));
    expect_close(y, truth, 5e-7, what);
    expect_close(dx, slope, 3e-6, what + ", derivative");
  }
}

// The derivatives of the reference implementation are compared with difference quotients.
TEST_P(Elementwise, PlainDerivativesMatchDifferences) {
  for (Activation kind : kActivations)
    for (double x : {-6.0, -1.3, -0.2, 0.4, 1.7, 5.0}) {
      const double h = 1e-5;
      const double difference = (plain::activation(kind, x + h) - plain::activation(kind, x - h)) / (2 * h);
      EXPECT_NEAR(plain::activation_derivative(kind, x), difference, 1e-8) << static_cast<int>(kind);
    }
}

// gelu is computed with one formula for |x| ≤ 6.5. Beyond, gelu is 0 or x, and its derivative is 0 or 1.
TEST_P(Elementwise, GeluIsAccurateOverTheWholeRange) {
  ThreadPool pool(1);
  std::vector<float> x;
  for (int i = -60000; i <= 60000; ++i) x.push_back(static_cast<float>(i) * 3.3e-4f);
  for (float far : {-3e38f, -200.0f, 200.0f, 3e38f, 1e-30f, -1e-30f}) x.push_back(far);
  std::vector<float> y(x.size()), slope(x.size(), 1.0f);
  activate(pool, Activation::gelu, x.data(), y.data(), std::ssize(x));
  activate_backward(pool, Activation::gelu, x.data(), slope.data(), slope.data(), std::ssize(x));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double truth = plain::activation(Activation::gelu, static_cast<double>(x[i]));
    EXPECT_NEAR(y[i], truth, 6.5e-8 + 9e-8 * std::abs(truth)) << x[i];
    EXPECT_NEAR(slope[i], plain::activation_derivative(Activation::gelu, static_cast<double>(x[i])), 1.5e-7)
        << x[i];
  }
  const float odd[] = {std::nanf(""), INFINITY, -INFINITY};
  float result[3], one[] = {1.0f, 1.0f, 1.0f};
  activate(pool, Activation::gelu, odd, result, 3);
  activate_backward(pool, Activation::gelu, odd, one, one, 3);
  EXPECT_TRUE(std::isnan(result[0]) && std::isnan(one[0]));
  EXPECT_EQ(result[1], INFINITY);
  EXPECT_EQ(one[1], 1.0f);
  EXPECT_EQ(one[2], 0.0f);
}

TEST_P(Elementwise, ReluKeepsNanAndItsSlopeAtZeroIsZero) {
  ThreadPool pool(1);
  const std::vector<float> x{std::nanf(""), 0.0f, -1.0f, 2.0f}, dy(4, 1.0f);
  std::vector<float> y(4);
  activate(pool, Activation::relu, x.data(), y.data(), 4);
  EXPECT_TRUE(std::isnan(y[0]));
  activate_backward(pool, Activation::relu, x.data(), dy.data(), y.data(), 4);
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_EQ(y[3], 1.0f);
}

// The reference implementation draws each element separately.
TEST_P(Elementwise, DropoutDrawsByPlaceNotByBatch) {
  const RandomKey key{11, 5, place_of("encoder.0.dropout")};
  const float rate = 0.3f;
  ThreadPool pool(2);
  for (std::int64_t columns : {1, 3, 8, 15, 16, 64, 65, 130, 257}) {
    const std::int64_t rows = 90;
    std::vector<std::uint64_t> sequence;
    std::vector<std::int32_t> position;
    for (std::int64_t row = 0; row < rows; ++row) {
      sequence.push_back((std::uint64_t{1} << 33) + static_cast<std::uint64_t>(row / 9));
      position.push_back(static_cast<std::int32_t>(row % 9));
    }
    const std::vector<float> x = random_floats(rows * columns, "x");
    std::vector<float> y(x.size()), truth(x.size());
    dropout(pool, {key, rate, sequence.data(), position.data(), x.data(), nullptr, y.data(), rows, columns});
    plain::dropout(key, rate, sequence.data(), position.data(), x.data(), truth.data(), rows, columns);
    ASSERT_EQ(y, truth) << columns << " columns";
    if (columns != 257) continue;
    const auto dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0f));
    EXPECT_NEAR(dropped / static_cast<double>(y.size()), 0.3, 0.01);
    // Elements are dropped independently: two elements are both dropped or both kept with probability
    // 0.3² + 0.7² = 0.58, whether they are neighbours or in other rows or sequences.
    const auto alike = [&](std::size_t apart) {
      std::int64_t equal = 0;
      for (std::size_t i = apart; i < y.size(); ++i)
        equal += (y[i] == 0.0f) == (y[i - apart] == 0.0f) ? 1 : 0;
      return static_cast<double>(equal) / static_cast<double>(y.size() - apart);
    };
    for (const std::size_t apart : {1u, 2u, 7u, 8u, 257u, 9u * 257u}) EXPECT_NEAR(alike(apart), 0.58, 0.02);
  }
}

TEST_P(Elementwise, DropoutAtItsLimits) {
  ThreadPool pool(1);
  const std::uint64_t sequence = 0;
  const std::int32_t position = 0;
  std::vector<float> x(37, 3.0f);
  dropout(pool, {{}, 0.0f, &sequence, &position, x.data(), nullptr, x.data(), 1, 37});
  for (float value : x) EXPECT_EQ(value, 3.0f);
  dropout(pool, {{}, 1.0f, &sequence, &position, x.data(), nullptr, x.data(), 1, 37});
  for (float value : x) EXPECT_EQ(value, 0.0f);
}

TEST_P(Elementwise, RotaryMatchesDoubleAndTurnsBack) {
  ThreadPool pool(2);
  for (bool interleaved : {false, true})
    for (std::int64_t head_dim : {2, 6, 8, 10, 32, 34, 64, 96, 128}) {
      for (std::int64_t rotary_dim : {head_dim, head_dim / 2 / 2 * 2}) {
        const std::int64_t rows = 40, heads = 3, half = rotary_dim / 2, stride = heads * head_dim + 5;
        const std::vector<float> start = random_floats(rows * stride, "x");
        const std::vector<float> cosine = random_floats(50 * half + 1, "cos"),
                                 sine = random_floats(50 * half + 1, "sin");
        std::vector<std::int32_t> position;
        for (std::int32_t row = 0; row < rows; ++row) position.push_back(row * 7 % 50);
        std::vector<float> x = start;
        rotary(pool, x.data(), stride, rows, heads, head_dim, rotary_dim, position.data(), cosine.data(),
               sine.data(), interleaved, false);
        std::vector<double> truth = to_doubles(start);
        const std::vector<double> wide_cosine = to_doubles(cosine), wide_sine = to_doubles(sine);
        for (std::int64_t row = 0; row < rows; ++row)
          plain::rotary(plain::Rotary{1, heads, head_dim, rotary_dim, interleaved, false},
                        truth.data() + row * stride, position.data() + row, wide_cosine.data(),
                        wide_sine.data());
        expect_close(x, truth, 1e-6, "head_dim " + std::to_string(head_dim));
      }
    }
  // If cosine and sine belong to the same angle, the inverse rotation restores the input.
  const std::vector<float> cosine{std::cos(0.3f), std::cos(0.1f)}, sine{std::sin(0.3f), std::sin(0.1f)};
  const std::vector<float> start{1.0f, 2.0f, 3.0f, 4.0f};
  const std::int32_t position = 0;
  std::vector<float> x = start;
  for (bool inverse : {false, true})
    rotary(pool, x.data(), 4, 1, 1, 4, 4, &position, cosine.data(), sine.data(), true, inverse);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(x[i], start[i], 1e-6);
}

TEST_P(Elementwise, BitsDoNotDependOnThreads) {
  const std::int64_t count = 50001;
  const std::vector<float> x = random_floats(count, "x", 3.0f);
  for (Activation kind : kActivations)
    expect_same_for_any_threads(
        [&](ThreadPool& pool) {
          std::vector<float> y(x.size());
          activate(pool, kind, x.data(), y.data(), count);
          return y;
        },
        "activation");
  // Results do not depend on the alignment of the array.
  ThreadPool pool(1);
  std::vector<float> whole(x.size()), part(100);
  activate(pool, Activation::gelu, x.data(), whole.data(), count);
  activate(pool, Activation::gelu, x.data() + 33, part.data(), 100);
  EXPECT_TRUE(same_bits(part, {whole.begin() + 33, whole.begin() + 133}));
}

TEST_P(Elementwise, SumOfSquaresMatchesDouble) {
  for (std::int64_t count : {0, 1, 5, 16, 33, 100000}) {
    const std::vector<float> x = random_floats(count, "x", 3.0f);
    double truth = 0.0;
    for (float value : x) truth += static_cast<double>(value) * static_cast<double>(value);
    double first = 0.0;
    for (int threads : {1, 2, 3, 8}) {
      ThreadPool pool(threads);
      const double sum = sum_of_squares(pool, x.data(), count);
      EXPECT_NEAR(sum, truth, 1e-12 * truth);
      if (threads == 1) first = sum;
      EXPECT_EQ(sum, first) << threads;
    }
  }
  ThreadPool pool(1);
  std::vector<float> x(100, 1e30f);
  EXPECT_TRUE(std::isfinite(sum_of_squares(pool, x.data(), 100)));
  x[57] = std::nanf("");
  EXPECT_TRUE(std::isnan(sum_of_squares(pool, x.data(), 100)));
}

TEST_P(Elementwise, EmbeddingAndItsGradient) {
  for (std::int64_t vocabulary : {1, 5, 300, 5000000}) {
    const std::int64_t rows = 1500, columns = 37, used = std::min<std::int64_t>(vocabulary, 300);
    const std::vector<float> dy = random_floats(rows * columns, "dy");
    std::vector<std::int32_t> ids;
    RandomStream stream({3, 0, 0});
    for (std::int64_t row = 0; row < rows; ++row)
      ids.push_back(static_cast<std::int32_t>(
          vocabulary - 1 - static_cast<std::int64_t>(stream.next_below(static_cast<std::uint64_t>(used)))));
    // Only the used rows of the table are allocated; the pointer is set to where the whole table would begin.
    const std::int64_t first = vocabulary - used;
    std::vector<float> truth(static_cast<std::size_t>(used * columns), 1.0f);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t c = 0; c < columns; ++c) {
        float& sum =
            truth[static_cast<std::size_t>((ids[static_cast<std::size_t>(row)] - first) * columns + c)];
        sum = std::fma(0.5f, dy[static_cast<std::size_t>(row * columns + c)], sum);
      }
    for (int threads : {1, 2, 3, 8}) {
      ThreadPool pool(threads);
      std::vector<float> gradient(truth.size(), 1.0f);
      embedding_backward(pool, dy.data(), ids.data(), rows, columns, vocabulary, 0.5f,
                         gradient.data() - first * columns);
      EXPECT_TRUE(same_bits(gradient, truth)) << vocabulary << " ids, " << threads << " threads";
    }
  }
  ThreadPool pool(2);
  const std::vector<float> table = random_floats(50, "table");
  const std::vector<std::int32_t> ids{4, 0, 4};
  std::vector<float> y(30);
  embedding(pool, table.data(), ids.data(), 3, 10, 2.0f, y.data());
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_EQ(y[i], 2.0f * table[static_cast<std::size_t>(ids[i / 10]) * 10 + i % 10]);
}

}  // namespace
}  // namespace regard::kernels
