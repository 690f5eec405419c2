#include "regard/math.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "api/check.h"
#include "api/pool.h"
#include "base/random.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/vector_math.h"
#include "regard/error.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

Error mismatch(const char* function, const char* name, const Tensor& tensor, const std::string& expected) {
  return usage_error(std::string(function) + ": the shape of " + name + " does not match")
      .found(tensor.shape().text())
      .expected(expected);
}

void require_same(const char* function, const Tensor& a, const Tensor& b) {
  api::require_f32(function, "a", a);
  api::require_f32(function, "b", b);
  if (!(a.shape() == b.shape())) throw mismatch(function, "b", b, a.shape().text());
}

Tensor product(const char* function, const Tensor& a, const Tensor& b, bool transpose_b) {
  api::require_matrix(function, "a", a);
  api::require_matrix(function, "b", b);
  const std::int64_t inner = transpose_b ? b.shape()[1] : b.shape()[0];
  if (const std::string size = std::to_string(a.shape()[1]); a.shape()[1] != inner)
    throw mismatch(function, "b", b, transpose_b ? "[rows, " + size + "]" : "[" + size + ", columns]");
  kernels::Gemm gemm;
  gemm.m = a.shape()[0], gemm.k = inner, gemm.n = transpose_b ? b.shape()[0] : b.shape()[1];
  gemm.a = a.f32(), gemm.lda = a.row_stride();
  gemm.b = b.f32(), gemm.ldb = b.row_stride(), gemm.transpose_b = transpose_b;
  Tensor c = Tensor::empty({gemm.m, gemm.n});
  gemm.c = c.f32(), gemm.ldc = gemm.n;
  kernels::gemm(*api::pool(), gemm);
  return c;
}

Tensor packed(const Tensor& a) {
  return a.contiguous() ? a : a.clone();
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  return product("matmul", a, b, false);
}

Tensor matmul_transposed(const Tensor& a, const Tensor& b) {
  return product("matmul_transposed", a, b, true);
}

Tensor transpose(const Tensor& a) {
  api::require_matrix("transpose", "a", a);
  Tensor turned = Tensor::empty({a.shape()[1], a.shape()[0]});
  for (std::int64_t r = 0; r < a.shape()[0]; ++r)
    for (std::int64_t c = 0; c < a.shape()[1]; ++c) turned.row(c)[r] = a.row(r)[c];
  return turned;
}

Tensor add(const Tensor& a, const Tensor& b) {
  const bool row = b.shape().rank() == 1 && a.shape().rank() > 1 && b.columns() == a.columns();
  api::require_f32("add", "a", a);
  api::require_f32("add", "b", b);
  if (!row && !(a.shape() == b.shape())) throw mismatch("add", "b", b, a.shape().text());
  Tensor sum = a.clone();
  const Tensor addend = packed(b);
  for (std::int64_t r = 0; r < sum.rows(); ++r)
    for (std::int64_t c = 0; c < sum.columns(); ++c)
      sum.row(r)[c] += addend.f32()[row ? c : r * sum.columns() + c];
  return sum;
}

Tensor scale(const Tensor& a, float factor) {
  api::require_f32("scale", "a", a);
  Tensor scaled = a.clone();
  kernels::scale(*api::pool(), scaled.f32(), factor, scaled.f32(), scaled.elements());
  return scaled;
}

Tensor softmax(const Tensor& a) {
  api::require_f32("softmax", "a", a);
  const Tensor x = packed(a);
  Tensor y = Tensor::empty(x.shape());
  kernels::softmax(*api::pool(), x.f32(), y.f32(), x.rows(), x.columns());
  return y;
}

Tensor layer_norm(const Tensor& a, float epsilon) {
  api::require_f32("layer_norm", "a", a);
  api::require_number("layer_norm", "epsilon", static_cast<double>(epsilon), 0.0);
  const Tensor x = packed(a);
  Tensor y = Tensor::empty(x.shape()), mean = Tensor::empty({x.rows()}), inverse = Tensor::empty({x.rows()});
  kernels::Norm norm;
  norm.rows = x.rows(), norm.columns = x.columns(), norm.epsilon = epsilon;
  norm.x = x.f32(), norm.y = y.f32(), norm.mean = mean.f32(), norm.inverse_deviation = inverse.f32();
  kernels::norm(*api::pool(), norm);
  return y;
}

float dot(const Tensor& a, const Tensor& b) {
  require_same("dot", a, b);
  const Tensor x = packed(a), y = packed(b);
  return kernels::dot_in_order(x.f32(), y.f32(), x.elements());
}

float norm(const Tensor& a) {
  return std::sqrt(dot(a, a));
}

float cosine_similarity(const Tensor& a, const Tensor& b) {
  const float product = dot(a, b), lengths = norm(a) * norm(b);
  if (std::isnormal(lengths) && std::isfinite(product)) return product / lengths;
  // Compute in double if squares overflow or underflow f32, a vector is zero, or a value is not finite.
  const Tensor x = packed(a), y = packed(b);
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const auto u = static_cast<double>(x.f32()[i]), v = static_cast<double>(y.f32()[i]);
    xy += u * v, xx += u * u, yy += v * v;
  }
  return xx == 0.0 || yy == 0.0 ? 0.0f : static_cast<float>(xy / (std::sqrt(xx) * std::sqrt(yy)));
}

Tensor random_normal(Shape shape, std::uint64_t seed, const std::string& name, float deviation) {
  api::require_number("random_normal", "deviation", static_cast<double>(deviation), 0.0);
  Tensor tensor = Tensor::empty(shape);
  RandomStream stream({seed, 0, place_of(name)});
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.f32()[i] = static_cast<float>(stream.next_normal()) * deviation;
  return tensor;
}

std::vector<std::int64_t> most_similar_rows(const Tensor& table, const Tensor& query, std::int64_t count) {
  api::require_matrix("most_similar_rows", "table", table);
  api::require_f32("most_similar_rows", "query", query);
  if (query.shape().rank() != 1 || query.columns() != table.columns())
    throw mismatch("most_similar_rows", "query", query, "[" + std::to_string(table.columns()) + "]");
  if (count < 0)
    throw usage_error("most_similar_rows: count is negative")
        .found(std::to_string(count))
        .expected("0 or more");
  const Tensor rows = packed(table);
  std::vector<float> scores;
  for (std::int64_t r = 0; r < rows.rows(); ++r)
    scores.push_back(dot(rows.slice_rows(r, r + 1).reshape({rows.columns()}), query));
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    const float a = scores[static_cast<std::size_t>(x)], b = scores[static_cast<std::size_t>(y)];
    return a > b || (std::isnan(b) && !std::isnan(a));
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

Tensor sinusoidal_positions(std::int64_t length, std::int64_t size) {
  Tensor positions = Tensor::empty({length, size});
  for (std::int64_t p = 0; p < length; ++p) {
    for (std::int64_t f = 0; f < size; ++f) {
      const std::int64_t even = f - f % 2;
      const double rate = std::pow(10000.0, -static_cast<double>(even) / static_cast<double>(size));
      const double angle = static_cast<double>(p) * rate;
      positions.row(p)[f] = static_cast<float>(f % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return positions;
}

bool equal_bits(const Tensor& a, const Tensor& b) {
  api::require_tensor("equal_bits", "a", a);
  api::require_tensor("equal_bits", "b", b);
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const Tensor x = packed(a), y = packed(b);
  return std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}

float largest_difference(const Tensor& a, const Tensor& b) {
  require_same("largest_difference", a, b);
  const Tensor x = packed(a), y = packed(b);
  float largest = 0.0f;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const float difference = std::fabs(x.f32()[i] - y.f32()[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace regard
