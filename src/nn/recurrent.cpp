#include "nn/recurrent.h"

#include "kernels/gemm.h"
#include "nn/branch.h"
#include "ops/join_columns.h"
#include "ops/linear.h"
#include "ops/scale.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

constexpr Initialisation kXavier{Initialisation::Kind::xavier_uniform, 0.0};

void declare(Parameter& parameter, const std::string& name, Shape shape) {
  parameter.name = name;
  parameter.variable.value = declared(shape);
  if (shape.rank() == 2) parameter.initial = kXavier;
}

}  // namespace

Recurrent::Recurrent(const std::string& prefix, const std::string& point, const RecurrentConfig& config)
    : config_(config), point_(point) {
  const std::int64_t width = kernels::gates_of(config.cell) * config.hidden;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    for (int side = 0; side < (config.bidirectional ? 2 : 1); ++side) {
      auto direction = std::make_unique<Direction>();
      const std::string end = "_l" + std::to_string(layer) + (side == 1 ? "_reverse" : "");
      declare(direction->weight_ih, prefix + "weight_ih" + end, {width, layer == 0 ? config.input : out()});
      declare(direction->weight_hh, prefix + "weight_hh" + end, {width, config.hidden});
      declare(direction->bias_ih, prefix + "bias_ih" + end, {width});
      declare(direction->bias_hh, prefix + "bias_hh" + end, {width});
      directions_.push_back(std::move(direction));
    }
}

ops::Recurrence Recurrent::run(Tape& tape, Direction& direction, Var x, const Ragged& shape, Var initial,
                               bool reverse) const {
  if (tape.recording())
    for (kernels::PackedMatrix* packed : {&direction.packed_ih, &direction.packed_hh})
      *packed = kernels::PackedMatrix();
  ops::LinearOptions input;
  input.packed = &direction.packed_ih;
  Var projected = ops::linear(tape, x, &direction.weight_ih.variable, &direction.bias_ih.variable, input);
  ops::RecurrenceOptions options;
  options.cell = config_.cell, options.reverse = reverse;
  options.initial = initial, options.packed = &direction.packed_hh;
  return ops::recurrence(tape, projected, &direction.weight_hh.variable, &direction.bias_hh.variable, shape,
                         options);
}

Var Recurrent::forward(Tape& tape, Var x, const Ragged& shape, const RecurrentStates& states) const {
  if (config_.bidirectional && (!states.initial.empty() || !states.after.empty()))
    throw usage_error("a bidirectional recurrent layer cannot continue from a state")
        .remedy("Use a layer of one direction, or pass no states");
  std::size_t next = 0;
  for (std::int64_t layer = 0; layer < config_.layers; ++layer) {
    const std::string point =
        point_.empty() ? "" : point_ + "." + std::to_string(config_.first_layer + layer);
    if (layer > 0) x = dropped_copy(tape, x, shape, {config_.dropout, place_of(point + ".dropout")});
    const auto at = static_cast<std::size_t>(layer);
    const ops::Recurrence forward = run(tape, *directions_[next++], x, shape,
                                        states.initial.empty() ? nullptr : states.initial[at], false);
    if (!states.after.empty()) states.after[at] = forward;
    x = config_.bidirectional
            ? ops::join_columns(
                  tape, {forward.hidden, run(tape, *directions_[next++], x, shape, nullptr, true).hidden})
            : forward.hidden;
    x = show(tape, point, "residual", x);
  }
  return x;
}

void Recurrent::collect(std::vector<Parameter*>& parameters) const {
  for (const auto& direction : directions_)
    for (Parameter* parameter :
         {&direction->weight_ih, &direction->weight_hh, &direction->bias_ih, &direction->bias_hh})
      parameters.push_back(parameter);
}

void Recurrent::prepare_for_inference(const Preparation& how) const {
  for (const auto& direction : directions_)
    for (const auto& [weight, packed] : {std::pair(&direction->weight_ih, &direction->packed_ih),
                                         std::pair(&direction->weight_hh, &direction->packed_hh)})
      how.each(weight->value().elements() * static_cast<std::int64_t>(sizeof(float)), [&](ThreadPool& pool) {
        if (weight->mapped) return;  // packing would duplicate a mapped weight in memory
        const Tensor& value = weight->value();
        *packed = kernels::pack(pool, value.f32(), value.columns(), true, value.columns(), value.rows());
      });
}

Var dropped_copy(Tape& tape, Var x, const Ragged& shape, const ops::DropoutOptions& options) {
  if (options.rate == 0.0f || !tape.options().training) return x;
  return ops::dropout(tape, ops::scale(tape, x, 1.0f), shape, options);
}

}  // namespace regard::nn
