#include "nn/convolution.h"

#include <fmt/format.h>

#include "kernels/rows.h"
#include "ops/activation.h"
#include "ops/group_norm.h"
#include "ops/view.h"
#include "ops/weight_norm.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

std::unique_ptr<Parameter> vector_weight(const std::string& name, std::int64_t size,
                                         Initialisation::Kind kind) {
  auto weight = std::make_unique<Parameter>();
  weight->name = name;
  weight->variable.value = declared({size});
  weight->initial.kind = kind;
  return weight;
}

}  // namespace

Convolution::Convolution(std::int64_t in, const ConvolutionConfig& config) : config_(config) {
  using Kind = Initialisation::Kind;
  if (config.groups < 1 || in % config.groups != 0 || config.out % config.groups != 0)
    throw usage_error("the groups of a convolution do not divide its channels")
        .found(fmt::format("{} groups, {} input and {} output channels", config.groups, in, config.out))
        .expected("a common divisor of both numbers of channels");
  const std::int64_t channels = in / config.groups, kernel = config.window.kernel;
  const std::string parametrized = config.name + ".parametrizations.weight.original";
  weight_ = std::make_unique<Parameter>();
  weight_->name = config.weight_norm ? parametrized + "1" : config.name + ".weight";
  weight_->variable.value = declared({config.out * channels, kernel});
  weight_->stored_shape = {config.out, channels, kernel};
  weight_->initial = config.initial;
  if (config.weight_norm) {
    magnitude_ = vector_weight(parametrized + "0", kernel, Kind::ones);
    magnitude_->stored_shape = {1, 1, kernel};
  }
  if (config.bias) bias_ = vector_weight(config.name + ".bias", config.out, Kind::zeros);
  if (config.norm == ConvolutionConfig::Norm::layer)
    layer_norm_ = std::make_unique<Norm>(config.norm_name, config.out, NormConfig{});
  if (config.norm == ConvolutionConfig::Norm::group) {
    gain_ = vector_weight(config.norm_name + ".weight", config.out, Kind::ones);
    shift_ = vector_weight(config.norm_name + ".bias", config.out, Kind::zeros);
  }
}

Var Convolution::forward(Tape& tape, Var x, std::span<const std::int32_t>& offsets) const {
  Var weight = &weight_->variable;
  if (magnitude_) weight = ops::weight_norm(tape, weight, &magnitude_->variable);
  // [out · in / groups, kernel] has the same memory layout as [out, in / groups, kernel].
  Var shaped = ops::reshape(tape, weight, {config_.out, weight->value.elements() / config_.out});
  Var y = ops::convolution(tape, x, shaped, bias_ ? &bias_->variable : nullptr, offsets,
                           {config_.window, config_.groups});
  offsets = ops::convolved_offsets(tape, offsets, config_.window);
  y = normed(tape, y, offsets);
  if (config_.activation == kernels::Activation::none) return y;
  if (tape.wanted({y})) return ops::activate(tape, y, config_.activation);
  kernels::activate(tape.pool(), config_.activation, y->value.f32(), y->value.f32(), y->value.elements());
  return y;
}

Var Convolution::normed(Tape& tape, Var x, std::span<const std::int32_t> offsets) const {
  if (layer_norm_) return layer_norm_->forward(tape, x);
  if (!gain_) return x;
  return ops::group_norm(tape, x, &gain_->variable, &shift_->variable, offsets,
                         {.groups = config_.out, .overwrite = true});
}

void Convolution::collect(std::vector<Parameter*>& parameters) const {
  for (Parameter* weight : {magnitude_.get(), weight_.get(), bias_.get(), gain_.get(), shift_.get()})
    if (weight != nullptr) parameters.push_back(weight);
  if (layer_norm_) layer_norm_->collect(parameters);
}

}  // namespace regard::nn
