#include "train/gradient_sum.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

#include "kernels/rows.h"

namespace regard::train {

GradientSum::GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves) {
  if (leaves < 2) return;
  std::int64_t count = 0;
  for (Parameter* parameter : parameters) {
    if (!parameter->trainable()) continue;
    parameters_.push_back(parameter);
    count += parameter->gradient().elements();
  }
  levels_.resize(static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(leaves))));
  for (Level& level : levels_) level.sum = Tensor::zeros({count});
  carry_ = Tensor::zeros({count});
}

void GradientSum::add(ThreadPool& pool) {
  float* to = carry_.f32();
  for (Parameter* parameter : parameters_) {
    const Tensor& gradient = parameter->gradient();
    std::memcpy(to, gradient.data(), gradient.bytes());
    to += gradient.elements();
    parameter->clear_gradient();
  }
  for (Level& level : levels_) {
    if (!level.used) {
      std::swap(level.sum, carry_);
      level.used = true;
      return;
    }
    kernels::add(pool, level.sum.f32(), carry_.f32(), carry_.f32(), carry_.elements());
    level.used = false;
  }
  assert(false && "more micro-batches than announced");
}

void GradientSum::finish(ThreadPool& pool) {
  Level* sum = nullptr;
  for (Level& level : levels_) {
    if (!level.used) continue;
    if (sum != nullptr)
      kernels::add(pool, level.sum.f32(), sum->sum.f32(), level.sum.f32(), level.sum.elements());
    if (sum != nullptr) sum->used = false;
    sum = &level;
  }
  if (sum == nullptr) return;
  const float* from = sum->sum.f32();
  for (Parameter* parameter : parameters_) {
    const Tensor& gradient = parameter->gradient();
    std::memcpy(gradient.data(), from, gradient.bytes());
    from += gradient.elements();
  }
  sum->used = false;
}

}  // namespace regard::train
