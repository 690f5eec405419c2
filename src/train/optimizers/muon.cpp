#include "train/optimizers/muon.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "kernels/gemm.h"
#include "kernels/partition.h"
#include "kernels/rows.h"
#include "train/optimizers/adam.h"

namespace regard::train {
namespace {

bool has_layer_number(const std::string& name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    if (end > at && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at),
                                name.begin() + static_cast<std::ptrdiff_t>(end),
                                [](unsigned char c) { return std::isdigit(c) != 0; }))
      return true;
    at = end + 1;
  }
  return false;
}

// An operand of a matrix product; it may be transposed.
struct Side {
  const float* data;
  std::int64_t stride;
  bool transposed;
};
struct Size {
  std::int64_t rows, columns, inner;
};

// Compute c = a b, or c += a b if `accumulate` is set.
void multiply(ThreadPool& pool, const Size& size, const Side& a, const Side& b, float* c,
              bool accumulate = false) {
  kernels::Gemm product;
  product.m = size.rows, product.n = size.columns, product.k = size.inner;
  product.a = a.data, product.lda = a.stride, product.transpose_a = a.transposed;
  product.b = b.data, product.ldb = b.stride, product.transpose_b = b.transposed;
  product.c = c, product.ldc = size.columns;
  product.accumulate = accumulate;
  kernels::gemm(pool, product);
}

}  // namespace

bool is_hidden_matrix(const Parameter& parameter) {
  const bool linear =
      parameter.use == Parameter::Use::linear || parameter.use == Parameter::Use::transposed_linear;
  return linear && parameter.value().shape().rank() == 2 && has_layer_number(parameter.name);
}

Muon::Muon(std::span<Parameter* const> parameters, const OptimizerOptions& options,
           std::span<const double> rate_factors, bool (*hidden)(const Parameter&))
    : Optimizer(parameters, options, rate_factors) {
  std::int64_t most = 0, side = 0;
  for (Slot& slot : slots()) {
    if (hidden(*slot.parameter)) {
      slot.add_state("momentum", slot.shape());
      most = std::max(most, slot.elements());
      side = std::max(side, std::min(slot.shape()[0], slot.shape()[1]));
    } else {
      for (const char* kind : {"first", "second"}) slot.add_state(kind, slot.shape());
    }
  }
  x_ = Tensor::zeros({most});
  next_ = Tensor::zeros({most});
  gram_ = Tensor::zeros({side * side});
  square_ = Tensor::zeros({side * side});
}

// Update the momentum and write the direction of the update to x_.
void Muon::direction(ThreadPool& pool, Slot& slot, const Step& step) {
  const float* gradient = slot.gradient();
  float* buffer = slot.of(0);
  float* x = x_.f32();
  const auto momentum = static_cast<float>(options().muon.momentum);
  const auto rest = static_cast<float>(1.0 - options().muon.momentum);
  const auto scale = static_cast<float>(step.gradient_scale);
  const bool nesterov = options().muon.nesterov;
  kernels::for_elements(pool, slot.elements(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float g = gradient[i] * scale;
      buffer[i] += rest * (g - buffer[i]);
      x[i] = nesterov ? g + momentum * (buffer[i] - g) : buffer[i];
    }
  });
}

// Apply the Newton–Schulz iteration to x_ [rows, columns], which moves the singular values of x_ towards 1.
// The Gram matrix is the smaller one of X Xᵀ and Xᵀ X.
void Muon::orthogonalise(ThreadPool& pool, std::int64_t rows, std::int64_t columns) {
  constexpr float kA = 3.4445f, kB = -4.775f, kC = 2.0315f;
  constexpr double kSmallestNorm = 1e-7;
  const std::int64_t count = rows * columns, side = std::min(rows, columns);
  const bool tall = rows > columns;
  const double norm = std::sqrt(kernels::sum_of_squares(pool, x_.f32(), count));
  kernels::scale(pool, x_.f32(), static_cast<float>(1.0 / std::max(norm, kSmallestNorm)), x_.f32(), count);
  float* gram = gram_.f32();
  float* square = square_.f32();
  for (int i = 0; i < options().muon.iterations; ++i) {
    const float* x = x_.f32();
    float* next = next_.f32();
    const Side matrix{x, columns, false}, mirrored{x, columns, true};
    multiply(pool, {side, side, std::max(rows, columns)}, tall ? mirrored : matrix, tall ? matrix : mirrored,
             gram);
    multiply(pool, {side, side, side}, {gram, side, false}, {gram, side, false}, square);
    kernels::scale(pool, square, kC, square, side * side);
    kernels::axpy(pool, kB, gram, square, side * side);
    kernels::scale(pool, x, kA, next, count);
    const Side correction{square, side, false};
    multiply(pool, {rows, columns, side}, tall ? matrix : correction, tall ? correction : matrix, next, true);
    std::swap(x_, next_);
  }
}

void Muon::update(ThreadPool& pool, Slot& slot, const Step& step) {
  if (slot.state.size() == 2) {
    kernels::AdamW constants =
        adam_constants(options(), step.learning_rate, step.gradient_scale, step.number);
    constants.weight_decay = slot.weight_decay;
    kernels::adamw(pool, constants, slot.weight(), slot.gradient(), slot.of(0), slot.of(1), slot.elements());
    return;
  }
  const std::int64_t rows = slot.shape()[0], columns = slot.shape()[1], count = slot.elements();
  direction(pool, slot, step);
  orthogonalise(pool, rows, columns);
  const double longest = static_cast<double>(std::max(rows, columns));
  const double scale =
      options().muon.match_adamw
          ? 0.2 * std::sqrt(longest)
          : std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
  const double rate = step.learning_rate * options().muon.rate_ratio;
  float* weight = slot.weight();
  kernels::scale(pool, weight, static_cast<float>(1.0 - rate * slot.weight_decay), weight, count);
  kernels::axpy(pool, static_cast<float>(-rate * scale), x_.f32(), weight, count);
}

}  // namespace regard::train
