#include "train/gradient_clip.h"

#include <algorithm>
#include <cmath>

#include "kernels/call_scratch.h"
#include "kernels/partition.h"
#include "kernels/rows.h"

namespace regard::train {
namespace {

// Return the larger value; NaN if either is NaN.
double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

// Return the sum of the absolute values for NormType::one, otherwise their maximum. The result is NaN if any
// value is NaN.
double absolute(const float* x, std::int64_t count, NormType type) {
  double result = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = std::fabs(static_cast<double>(x[i]));
    result = type == NormType::one ? result + value : larger(result, value);
  }
  return result;
}

double absolute(ThreadPool& pool, const float* x, std::int64_t count, NormType type) {
  constexpr std::int64_t kEach = kernels::kElementsPerTask;
  const std::int64_t tasks = (count + kEach - 1) / kEach;
  auto* partial =
      reinterpret_cast<double*>(kernels::call_scratch(static_cast<std::size_t>(tasks) * sizeof(double)));
  pool.parallel_for(tasks, [&](std::int64_t task, int) {
    partial[task] = absolute(x + task * kEach, std::min(kEach, count - task * kEach), type);
  });
  double result = 0.0;
  for (std::int64_t task = 0; task < tasks; ++task)
    result = type == NormType::one ? result + partial[task] : larger(result, partial[task]);
  return result;
}

// Combine two parts of a norm: return the larger value for NormType::infinity, otherwise sum + part.
double joined(double sum, double part, NormType type) {
  return type == NormType::infinity ? larger(sum, part) : sum + part;
}

}  // namespace

double norm_part(ThreadPool& pool, const Parameter& parameter, NormType type) {
  const float* gradient = parameter.gradient().f32();
  const std::int64_t count = parameter.gradient().elements();
  return type == NormType::two ? kernels::sum_of_squares(pool, gradient, count)
                               : absolute(pool, gradient, count, type);
}

double norm_of_parts(std::span<const double> parts, NormType type) {
  double sum = 0.0;
  for (const double part : parts) sum = joined(sum, part, type);
  return type == NormType::two ? std::sqrt(sum) : sum;
}

double gradient_norm(ThreadPool& pool, std::span<Parameter* const> parameters, NormType type) {
  double sum = 0.0;
  for (const Parameter* parameter : parameters)
    if (parameter->trainable()) sum = joined(sum, norm_part(pool, *parameter, type), type);
  return type == NormType::two ? std::sqrt(sum) : sum;
}

double clip_factor(double norm, double max_norm) {
  if (max_norm <= 0.0) return 1.0;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace regard::train
