#include "inspect/principal_components.h"

#include <algorithm>
#include <cmath>

namespace regard::inspect {
namespace {

using Matrix = std::vector<double>;  // symmetric matrix [n, n]

// Return the dot products [n, n] of all pairs of rows, after the mean row is subtracted from each row.
Matrix centred_products(const Tensor& x) {
  const std::int64_t n = x.rows(), features = x.columns();
  std::vector<double> centred(static_cast<std::size_t>(n * features));
  for (std::int64_t f = 0; f < features; ++f) {
    double mean = 0;
    for (std::int64_t r = 0; r < n; ++r) mean += static_cast<double>(x.row(r)[f]);
    mean /= static_cast<double>(n);
    for (std::int64_t r = 0; r < n; ++r)
      centred[static_cast<std::size_t>(r * features + f)] = static_cast<double>(x.row(r)[f]) - mean;
  }
  Matrix products(static_cast<std::size_t>(n * n));
  for (std::int64_t a = 0; a < n; ++a)
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::int64_t f = 0; f < features; ++f)
        sum += centred[static_cast<std::size_t>(a * features + f)] *
               centred[static_cast<std::size_t>(b * features + f)];
      products[static_cast<std::size_t>(a * n + b)] = products[static_cast<std::size_t>(b * n + a)] = sum;
    }
  return products;
}

struct Axis {
  double value = 0;  // eigenvalue
  std::vector<double> vector;
};

// Return the largest eigenvalue and its unit eigenvector, by power iteration.
Axis main_axis(const Matrix& matrix, std::size_t n) {
  constexpr int kMostSteps = 10000;
  constexpr double kChange = 1e-13;
  Axis axis;
  axis.vector.resize(n);
  // Start from a sum of all columns with different factors. The iteration fails if the start is orthogonal to
  // the eigenvector, which is very unlikely for this sum but possible for a single column.
  for (std::size_t column = 0; column < n; ++column) {
    const double turns = 0.6180339887498949 * static_cast<double>(column);
    const double factor = 0.5 + turns - std::floor(turns);
    for (std::size_t i = 0; i < n; ++i) axis.vector[i] += factor * matrix[i * n + column];
  }
  std::vector<double> next(n);
  for (int step = 0; step < kMostSteps; ++step) {
    double norm = 0;
    for (const double v : axis.vector) norm += v * v;
    norm = std::sqrt(norm);
    if (norm < 1e-300) return {0, std::vector<double>(n, 0.0)};
    for (double& v : axis.vector) v /= norm;
    double change = 0;
    axis.value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = 0;
      for (std::size_t j = 0; j < n; ++j) next[i] += matrix[i * n + j] * axis.vector[j];
      axis.value += axis.vector[i] * next[i];
    }
    for (std::size_t i = 0; i < n; ++i)
      change = std::max(change, std::abs(next[i] - axis.value * axis.vector[i]));
    if (change <= kChange * std::max(axis.value, 1e-300)) break;
    axis.vector = next;
  }
  double norm = 0;
  for (const double v : axis.vector) norm += v * v;
  for (double& v : axis.vector) v /= std::sqrt(norm);
  return axis;
}

}  // namespace

PlaneProjection principal_plane(const Tensor& x) {
  const auto n = static_cast<std::size_t>(x.rows());
  PlaneProjection plane;
  plane.points.resize(n);
  Matrix products = centred_products(x);
  double variance = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) variance += products[i * n + i];
  for (std::int64_t i = 0; i < x.elements(); ++i) size += std::pow(static_cast<double>(x.f32()[i]), 2);
  if (variance <= 1e-12 * size) return plane;  // the rows are equal apart from rounding
  for (std::size_t d = 0; d < 2; ++d) {
    const Axis axis = main_axis(products, n);
    if (axis.value <= 1e-12 * variance) break;
    plane.explained[d] = axis.value / variance;
    const auto largest = std::max_element(axis.vector.begin(), axis.vector.end(),
                                          [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double scale = std::copysign(std::sqrt(axis.value), *largest);
    for (std::size_t i = 0; i < n; ++i) plane.points[i][d] = scale * axis.vector[i];
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) products[i * n + j] -= axis.value * axis.vector[i] * axis.vector[j];
  }
  return plane;
}

}  // namespace regard::inspect
