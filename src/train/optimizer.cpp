#include "train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/rows.h"

namespace regard::train {

AdamW::AdamW(std::vector<Parameter*> parameters, const AdamWOptions& options) : options_(options) {
  for (Parameter* parameter : parameters) {
    if (!parameter->trainable()) continue;
    const Shape& shape = parameter->value().shape();
    moments_.push_back(
        {parameter, Tensor::zeros(shape), Tensor::zeros(shape), options.decay_all || shape.rank() >= 2});
  }
}

void AdamW::step(ThreadPool& pool, double learning_rate, double gradient_scale) {
  ++steps_;
  const auto t = static_cast<double>(steps_);
  for (Moments& moments : moments_) {
    const kernels::AdamW update{.learning_rate = learning_rate,
                                .beta1 = options_.beta1,
                                .beta2 = options_.beta2,
                                .epsilon = options_.epsilon,
                                .weight_decay = moments.decays ? options_.weight_decay : 0.0,
                                .gradient_scale = gradient_scale,
                                .correction1 = 1.0 - std::pow(options_.beta1, t),
                                .correction2 = 1.0 - std::pow(options_.beta2, t)};
    Variable& variable = moments.parameter->variable;
    kernels::adamw(pool, update, variable.value.f32(), variable.gradient.f32(), moments.first.f32(),
                   moments.second.f32(), variable.value.elements());
  }
}

std::vector<formats::NamedTensor> AdamW::state() const {
  std::vector<formats::NamedTensor> tensors;
  for (const Moments& moments : moments_) {
    tensors.push_back({"first." + moments.parameter->name, moments.first});
    tensors.push_back({"second." + moments.parameter->name, moments.second});
  }
  return tensors;
}

void AdamW::restore(const formats::SafetensorsFile& file, std::int64_t steps) {
  for (const formats::NamedTensor& target : state()) {
    const Tensor saved = file.tensor(target.name);
    if (saved.dtype() != DType::f32 || !(saved.shape() == target.tensor.shape()))
      throw file_error(file.path().string(), "the optimiser's '" + target.name + "' does not fit the model")
          .found(saved.shape().text())
          .expected(target.tensor.shape().text());
    std::memcpy(target.tensor.data(), saved.data(), target.tensor.bytes());
  }
  steps_ = steps;
}

double gradient_norm(ThreadPool& pool, std::span<Parameter* const> parameters) {
  double sum = 0.0;
  for (const Parameter* parameter : parameters)
    if (parameter->trainable())
      sum += kernels::sum_of_squares(pool, parameter->gradient().f32(), parameter->gradient().elements());
  return std::sqrt(sum);
}

double clip_factor(double norm, double max_norm) {
  if (max_norm <= 0.0) return 1.0;
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace regard::train
