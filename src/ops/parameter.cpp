#include "ops/parameter.h"

#include <algorithm>
#include <utility>

#include "regard/error.h"

namespace regard::ops {

Tensor declared(Shape shape) {
  return Tensor::view(nullptr, shape);
}

void Parameter::allocate() {
  if (variable.value.defined()) return;
  if (block == nullptr) {
    variable.value = Tensor::zeros(variable.value.shape());
    return;
  }
  Tensor& whole = block->variable.value;
  if (!whole.defined()) whole = Tensor::zeros(whole.shape());
  variable.value = whole.slice_rows(first_row, first_row + variable.value.shape()[0]);
}

void Parameter::adopt(const Tensor& stored) {
  const Shape shape = variable.value.shape();
  const bool alone = block == nullptr || block->variable.value.shape() == shape;
  if (alone && !variable.value.defined() && !trainable()) {
    variable.value = stored.reshape(shape);
    if (block != nullptr) block->variable.value = variable.value;
    mapped = true;
    return;
  }
  if (mapped) own();
  allocate();
  std::copy_n(stored.f32(), stored.elements(), variable.value.f32());
}

void Parameter::own() {
  variable.value = variable.value.clone();
  if (block != nullptr) block->variable.value = variable.value;
  mapped = false;
}

std::int64_t Parameter::outputs() const {
  return variable.value.shape()[use == Use::transposed_linear ? 1 : 0];
}

void Parameter::hold(Held numbers) {
  held = std::move(numbers);
  held.dtype = held.numbers.dtype();
  held_ = true;
  variable.value = declared(variable.value.shape());
  if (block != nullptr) block->variable.value = declared(block->variable.value.shape());
  mapped = false;
}

Tensor Parameter::widened(const Held& held, Use use) {
  Tensor wide = held.numbers.to(DType::f32);
  if (!held.scale.defined()) return wide;
  const std::int64_t columns = wide.columns();
  for (std::int64_t i = 0; i < wide.elements(); ++i)
    wide.f32()[i] *= held.scale.f32()[use == Use::transposed_linear ? i % columns : i / columns];
  return wide;
}

Tensor Parameter::widened() const {
  if (!held_) return variable.value;
  if (!held.numbers.defined())
    throw usage_error("the weight \"" + name + "\" was packed for inference and its original was released")
        .remedy("Load the model again");
  return widened(held, use);
}

void Parameter::set_trainable(bool trainable) {
  if (trainable == variable.needs_gradient) return;
  if (trainable && held_)
    throw usage_error("a model loaded for inference cannot be trained")
        .found(std::string("the weight \"") + name + "\" stored as " + name_of(held.dtype))
        .remedy("Load the model for training");
  if (trainable && mapped) own();
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

}  // namespace regard::ops
