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

}  // namespace

double pearson(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size())
    throw usage_error("the two lists of a correlation differ in length")
        .found(std::to_string(x.size()) + " and " + std::to_string(y.size()) + " numbers")
        .expected("equal lengths");
  if (x.size() < 2 || is_constant(x) || is_constant(y)) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx <= 0.0 || yy <= 0.0) return std::numeric_limits<double>::quiet_NaN();
  // The product of the sums of squares can overflow or underflow; rounding can make the quotient exceed 1.
  const double product = xx * yy;
  const double lengths = std::isnormal(product) ? std::sqrt(product) : std::sqrt(xx) * std::sqrt(yy);
  return std::clamp(xy / lengths, -1.0, 1.0);
}

double spearman(std::span<const double> x, std::span<const double> y) {
  return pearson(ranks_of(x), ranks_of(y));
}

}  // namespace regard::metrics
