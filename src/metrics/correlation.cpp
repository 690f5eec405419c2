#include "metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "regard/error.h"

namespace regard::metrics {
namespace {

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double mean = (static_cast<double>(begin + end) + 1.0) / 2.0;  // mean of the ranks begin + 1 to end
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = mean;
    begin = end;
  }
  return ranks;
}

// Compare the values themselves: rounding can make the variance of equal values positive.
bool is_constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

// Return the differences from the mean, scaled by a power of two so that the largest is from 1/2 to 1. The
// correlation does not depend on this factor, and sums of squares neither overflow nor underflow.
std::vector<double> deviations(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  std::vector<double> result;
  double largest = 0.0;
  for (const double value : values) {
    result.push_back(value - mean);
    largest = std::max(largest, std::abs(result.back()));
  }
  if (largest == 0.0 || !std::isfinite(largest)) return result;
  int exponent = 0;
  std::frexp(largest, &exponent);
  for (double& value : result) value = std::ldexp(value, -exponent);
  return result;
}

}  // namespace

double pearson(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size())
    throw usage_error("the two lists of a correlation differ in length")
        .found(std::to_string(x.size()) + " and " + std::to_string(y.size()) + " numbers")
        .expected("equal lengths");
  if (x.size() < 2 || is_constant(x) || is_constant(y)) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = deviations(x), b = deviations(y);
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) xy += a[i] * b[i], xx += a[i] * a[i], yy += b[i] * b[i];
  if (xx <= 0.0 || yy <= 0.0) return std::numeric_limits<double>::quiet_NaN();
  // rounding can make the quotient exceed 1
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

double spearman(std::span<const double> x, std::span<const double> y) {
  // a NaN has no rank
  const auto has_nan = [](std::span<const double> values) {
    return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  };
  if (has_nan(x) || has_nan(y)) return std::numeric_limits<double>::quiet_NaN();
  return pearson(ranks_of(x), ranks_of(y));
}

}  // namespace regard::metrics
