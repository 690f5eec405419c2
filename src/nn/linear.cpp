#include "nn/linear.h"

#include <algorithm>

#include "base/counted.h"
#include "nn/held_weight.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/linear.h"
#include "ops/low_rank.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

std::unique_ptr<Parameter> part_of(ParameterBlock& block, std::string name, std::int64_t first,
                                   std::int64_t rows) {
  auto parameter = std::make_unique<Parameter>();
  parameter->name = std::move(name);
  parameter->block = &block;
  parameter->first_row = first;
  const Shape& whole = block.variable.value.shape();
  parameter->variable.value = declared(whole.rank() == 1 ? Shape{rows} : Shape{rows, whole.back()});
  return parameter;
}

}  // namespace

Linear::Linear(std::int64_t in, const std::vector<LinearPart>& parts, bool transposed)
    : in_(in), transposed_(transposed) {
  if (transposed && parts.size() != 1)
    throw usage_error("a transposed linear layer has a wrong number of weights")
        .found(counted(parts.size(), "weight"))
        .expected("1 weight");
  bool any_bias = false;
  for (const LinearPart& part : parts) {
    columns_.push_back(out_);
    out_ += part.out;
    any_bias = any_bias || part.bias;
  }
  weight_ = std::make_unique<LinearBlock>();
  weight_->variable.value = declared(transposed ? Shape{in, out_} : Shape{out_, in});
  if (any_bias) {
    bias_ = std::make_unique<ParameterBlock>();
    bias_->variable.value = declared({out_});
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LinearPart& part = parts[i];
    const std::int64_t rows = transposed ? in : part.out;
    parameters_.push_back(part_of(*weight_, part.name + ".weight", transposed ? 0 : columns_[i], rows));
    parameters_.back()->initial = part.initial;
    parameters_.back()->use = transposed ? Parameter::Use::transposed_linear : Parameter::Use::linear;
    weights_.push_back(parameters_.back().get());
    if (part.bias) parameters_.push_back(part_of(*bias_, part.name + ".bias", columns_[i], part.out));
  }
}

void Linear::begin_pass(const Tape& tape) const {
  if (any_held(weights_) && tape.recording()) throw held_weight_error();
  if (tape.recording() && !packed_.empty()) packed_ = kernels::PackedMatrix();
}

Linear::Variables Linear::variables(const Tape& tape) const {
  begin_pass(tape);
  return {&weight_->variable, bias_ ? &bias_->variable : nullptr, transposed_};
}

Var Linear::forward(Tape& tape, Var x, const Options& options) const {
  begin_pass(tape);
  if (any_held(weights_) && packed_.empty()) packed_ = pack_held(tape.pool(), weights_, transposed_);
  if (!weight_->updates.empty()) return forward_updated(tape, x, options);
  ops::LinearOptions all;
  all.activation = options.activation, all.residual = options.residual;
  all.store_bf16 = options.store_bf16;
  all.transposed = transposed_, all.packed = &packed_;
  return ops::linear(tape, x, &weight_->variable, bias_ ? &bias_->variable : nullptr, all);
}

Var Linear::forward_updated(Tape& tape, Var x, const Options& options) const {
  ops::LinearOptions plain;
  plain.transposed = transposed_, plain.packed = &packed_;
  Var y = ops::linear(tape, x, &weight_->variable, bias_ ? &bias_->variable : nullptr, plain);
  for (const auto& update : weight_->updates)
    y = ops::add_low_rank(tape, x, y,
                          {.a = &update->a.variable,
                           .b = &update->b.variable,
                           .column = update->column,
                           .scale = update->scale});
  if (options.activation != kernels::Activation::none) y = ops::activate(tape, y, options.activation);
  return options.residual != nullptr ? ops::add(tape, y, options.residual) : y;
}

kernels::Precision Linear::precision() const {
  return precision_of(weights_);
}

void Linear::collect(std::vector<Parameter*>& parameters) {
  for (const auto& parameter : parameters_) parameters.push_back(parameter.get());
}

void Linear::prepare_for_inference(const Preparation& how) {
  how.each(stored_bytes(weights_), [&](ThreadPool& pool) { make_ready(pool); });
}

// A weight in a mapped file is used in place, because packing would duplicate it in memory.
void Linear::make_ready(ThreadPool& pool) {
  if (any_held(weights_)) {
    if (packed_.empty()) packed_ = pack_held(pool, weights_, transposed_);
    return;
  }
  if (parameters_[0]->mapped) return;
  const Tensor& weight = weight_->variable.value;
  packed_ = kernels::pack(pool, weight.f32(), weight.columns(), !transposed_, in_, out_);
}

}  // namespace regard::nn
