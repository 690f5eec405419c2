#include "ops/tape.h"

#include <algorithm>

namespace regard {

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
