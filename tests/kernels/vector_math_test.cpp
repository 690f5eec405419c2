#include "kernels/vector_math.h"

#include <cmath>
#include <limits>
#include <vector>

#include "isa_fixture.h"

namespace regard::kernels {
namespace {

class VectorMath : public regard::testing::EachIsa {};
REGARD_EACH_ISA(VectorMath);

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float call(Function function, float x) {
  float y = 0.0f;
  evaluate(function, &x, &y, 1);
  return y;
}

// Return the error in f32 units in the last place of the true value.
double ulps(float got, double truth) {
  const auto nearest = static_cast<float>(truth);
  if (std::isinf(nearest) && got == nearest) return 0.0;
  const float size = std::fabs(nearest);
  const double unit = static_cast<double>(std::nextafter(size, kInfinite)) - static_cast<double>(size);
  return std::fabs(static_cast<double>(got) - truth) / unit;
}

struct Worst {
  double error = 0.0;
  float at = 0.0f;
  bool finite = true;  // false if a result is NaN, which no comparison of errors shows
};

template <class Truth>
Worst worst_error(Function function, double low, double high, Truth truth, int points = 400001) {
  std::vector<float> x(static_cast<std::size_t>(points)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(low + (high - low) * static_cast<double>(i) / (points - 1));
  evaluate(function, x.data(), y.data(), points);
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(y[i])) worst.finite = false, worst.at = x[i];
    const double error = ulps(y[i], truth(static_cast<double>(x[i])));
    if (error > worst.error) worst.error = error, worst.at = x[i];
  }
  return worst;
}

template <class Truth>
void expect_within(Function function, double low, double high, double bound, Truth truth) {
  const Worst worst = worst_error(function, low, high, truth);
  EXPECT_TRUE(worst.finite) << "NaN at " << worst.at;
  EXPECT_LE(worst.error, bound) << "ulp at " << worst.at << ", range " << low << " to " << high;
  ::testing::Test::RecordProperty("ulp", std::to_string(worst.error));
}

TEST_P(VectorMath, ExpOverItsWholeRange) {
  const auto truth = [](double x) { return std::exp(x); };
  expect_within(Function::exp, -87.0, 88.7, 1.1, truth);
  expect_within(Function::exp, -1.0, 1.0, 1.1, truth);
  expect_within(Function::exp, -104.0, -87.0, 1.0, truth);  // denormal results
  EXPECT_EQ(call(Function::exp, 0.0f), 1.0f);
  EXPECT_EQ(call(Function::exp, -0.0f), 1.0f);
  EXPECT_EQ(call(Function::exp, -kInfinite), 0.0f);
  EXPECT_EQ(call(Function::exp, -1e30f), 0.0f);
  EXPECT_EQ(call(Function::exp, kInfinite), kInfinite);
  EXPECT_EQ(call(Function::exp, 88.8f), kInfinite);
  EXPECT_TRUE(std::isnan(call(Function::exp, kNan)));
}

TEST_P(VectorMath, FlushedExpIsTheSameAboveItsLimit) {
  const auto truth = [](double x) { return std::exp(x); };
  expect_within(Function::exp_flushed, -87.0, 88.0, 1.1, truth);
  EXPECT_EQ(call(Function::exp_flushed, 0.0f), 1.0f);
  for (float x : {-87.01f, -88.0f, -100.0f, -1e9f, -3e38f, -kInfinite})
    EXPECT_EQ(call(Function::exp_flushed, x), 0.0f) << x;
  EXPECT_TRUE(std::isnan(call(Function::exp_flushed, kNan)));
  EXPECT_TRUE(std::isnan(call(Function::exp_flushed, std::nanf("0x12345"))));
}

// A relative error of |x| · 9e-8 in exp(x) is at most 1.51 |x| units in the last place.
TEST_P(VectorMath, ExpOfADifferenceIsAsGoodAsItsArgumentIsSmall) {
  const auto truth = [](double x) { return std::exp(x); };
  for (const double low : {-0.1, -1.0, -10.0, -87.0})
    expect_within(Function::exp_of_difference, low, 0.0, 2.0 - 1.51 * low, truth);
  EXPECT_EQ(call(Function::exp_of_difference, 0.0f), 1.0f);
  for (float x : {-88.0f, -100.0f, -1e9f, -3e38f, -kInfinite})
    EXPECT_LE(call(Function::exp_of_difference, x), 1e-38f) << x;
  EXPECT_EQ(call(Function::exp_of_difference, -kInfinite), 0.0f);
  EXPECT_TRUE(std::isnan(call(Function::exp_of_difference, kNan)));
}

TEST_P(VectorMath, LogOverManyMagnitudes) {
  const auto truth = [](double x) { return std::log(x); };
  expect_within(Function::log, 0.5, 2.0, 1.0, truth);
  expect_within(Function::log, 1e-3, 100.0, 1.0, truth);
  expect_within(Function::log, 1e-45, 2e-38, 1.0, truth);  // includes denormal arguments
  expect_within(Function::log, 1e30, 3.4e38, 1.0, truth);
  EXPECT_EQ(call(Function::log, 1.0f), 0.0f);
  EXPECT_EQ(call(Function::log, 0.0f), -kInfinite);
  EXPECT_EQ(call(Function::log, kInfinite), kInfinite);
  EXPECT_TRUE(std::isnan(call(Function::log, -1.0f)));
  EXPECT_TRUE(std::isnan(call(Function::log, -kInfinite)));
  EXPECT_TRUE(std::isnan(call(Function::log, kNan)));
}

TEST_P(VectorMath, TanhKeepsSmallArgumentsAndSaturates) {
  const auto truth = [](double x) { return std::tanh(x); };
  expect_within(Function::tanh, -10.0, 10.0, 2.0, truth);
  expect_within(Function::tanh, -0.6, 0.6, 2.0, truth);
  expect_within(Function::tanh, -1e-4, 1e-4, 1.0, truth);
  EXPECT_EQ(call(Function::tanh, kInfinite), 1.0f);
  EXPECT_EQ(call(Function::tanh, -1e30f), -1.0f);
  EXPECT_TRUE(std::signbit(call(Function::tanh, -0.0f)));
  EXPECT_TRUE(std::isnan(call(Function::tanh, kNan)));
}

TEST_P(VectorMath, ErfOverItsRange) {
  const auto truth = [](double x) { return std::erf(x); };
  expect_within(Function::erf, -5.0, 5.0, 2.0, truth);
  expect_within(Function::erf, -1e-4, 1e-4, 2.0, truth);
  EXPECT_EQ(call(Function::erf, kInfinite), 1.0f);
  EXPECT_EQ(call(Function::erf, -1e9f), -1.0f);
  EXPECT_TRUE(std::isnan(call(Function::erf, kNan)));
}

TEST_P(VectorMath, SigmoidIsRelativelyExactOnBothSides) {
  const auto truth = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  expect_within(Function::sigmoid, -87.0, 30.0, 3.0, truth);
  expect_within(Function::sigmoid, -2.0, 2.0, 3.0, truth);
  EXPECT_EQ(call(Function::sigmoid, 0.0f), 0.5f);
  EXPECT_EQ(call(Function::sigmoid, kInfinite), 1.0f);
  EXPECT_EQ(call(Function::sigmoid, -kInfinite), 0.0f);
  EXPECT_TRUE(std::isnan(call(Function::sigmoid, kNan)));
}

// Elements in the tail of an array have the same bits as in the middle of a long array.
TEST_P(VectorMath, TailsHaveTheBitsOfWholeVectors) {
  std::vector<float> x(80), whole(80);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 7.3f) * 9.0f;
  for (Function function :
       {Function::exp, Function::exp_flushed, Function::tanh, Function::erf, Function::sigmoid}) {
    evaluate(function, x.data(), whole.data(), 80);
    for (std::int64_t count = 0; count < 80; ++count) {
      std::vector<float> part(80, -7.0f);
      evaluate(function, x.data(), part.data(), count);
      for (std::int64_t i = 0; i < 80; ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(part[at], i < count ? whole[at] : -7.0f) << i << " of " << count;
      }
    }
  }
}

TEST_P(VectorMath, DotInOrderIsOneChain) {
  std::vector<float> a(100), b(100);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = std::sin(static_cast<float>(i) * 7.3f) * 9.0f;
    b[i] = std::cos(static_cast<float>(i) * 3.1f);
  }
  float sum = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(dot_in_order(a.data(), b.data(), static_cast<std::int64_t>(i)), sum);
    sum = std::fma(a[i], b[i], sum);
  }
}

}  // namespace
}  // namespace regard::kernels
