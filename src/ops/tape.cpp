#include "ops/tape.h"

#include <algorithm>

#include "kernels/rows.h"

namespace regard {

void Parameter::set_trainable(bool trainable) {
  if (trainable == variable.needs_gradient) return;
  variable.needs_gradient = variable.gradient_started = trainable;
  if (block != nullptr) {
    Variable& whole = block->variable;
    block->trainable_parts += trainable ? 1 : -1;
    if (trainable && block->trainable_parts == 1) whole.gradient = Tensor::zeros(whole.value.shape());
    if (block->trainable_parts == 0) whole.gradient = Tensor();
    whole.needs_gradient = whole.gradient_started = block->trainable_parts > 0;
  }
  if (!trainable)
    variable.gradient = Tensor();
  else if (block == nullptr)
    variable.gradient = Tensor::zeros(variable.value.shape());
  else
    variable.gradient = block->variable.gradient.slice_rows(first_row, first_row + variable.value.shape()[0]);
}

void Parameter::clear_gradient() {
  if (trainable()) std::fill_n(variable.gradient.f32(), variable.gradient.elements(), 0.0f);
}

void Tape::begin(const Options& options) {
  arena_.reset();
  options_ = options;
  last_ = nullptr;
}

Var Tape::constant(const Tensor& value) {
  return input(value, false);
}

Var Tape::input(const Tensor& value, bool needs_gradient) {
  return make(value.borrowed(), needs_gradient);
}

Var Tape::make(Shape shape, bool needs_gradient) {
  return make(arena_.tensor(shape), needs_gradient);
}

Var Tape::make(const Tensor& view, bool needs_gradient) {
  Var variable = arena_.make<Variable>();
  variable->value = view;
  variable->needs_gradient = needs_gradient && options_.record;
  return variable;
}

Tape::Gradient Tape::gradient(Var variable) {
  if (!variable->needs_gradient) return {};
  if (variable->gradient.data() == nullptr) variable->gradient = arena_.tensor(variable->value.shape());
  const bool started = variable->gradient_started;
  variable->gradient_started = true;
  return {variable->gradient.f32(), started};
}

void Tape::pass_gradient(Var from, Var to) {
  if (to == nullptr || !to->needs_gradient) return;
  if (!to->gradient_started && to->gradient.data() == nullptr) {
    to->gradient = from->gradient.reshape(to->value.shape());
    to->gradient_started = true;
    return;
  }
  add_gradient(from, to);
}

void Tape::add_gradient(Var from, Var to) {
  if (to == nullptr) return;
  const Gradient target = gradient(to);
  if (target.data == nullptr) return;
  const std::int64_t count = to->value.elements();
  if (target.accumulate)
    kernels::axpy(pool_, 1.0f, from->gradient.f32(), target.data, count);
  else
    std::copy_n(from->gradient.f32(), count, target.data);
}

float* Tape::accumulated(Var variable) {
  if (variable == nullptr) return nullptr;
  const Gradient target = gradient(variable);
  if (target.data != nullptr && !target.accumulate)
    std::fill_n(target.data, variable->value.elements(), 0.0f);
  return target.data;
}

bool Tape::wanted(std::initializer_list<Var> inputs) const {
  if (!options_.record) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [](Var input) { return input != nullptr && input->needs_gradient; });
}

void Tape::backward(Var loss) {
  if (!loss->gradient_started) {
    const Gradient start = gradient(loss);
    if (start.data == nullptr) return;
    std::fill_n(start.data, loss->value.elements(), 1.0f);
  }
  for (Node* node = last_; node != nullptr; node = node->previous) node->run(*node, *this);
  last_ = nullptr;
}

}  // namespace regard
