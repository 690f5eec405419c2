#include "models/model_input.h"

#include <cstring>
#include <string>

#include "regard/error.h"

namespace regard {
namespace {

const char* text_of(InputKind kind) {
  const char* names[] = {"text", "feature input", "image input"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace

bool operator==(const ModelInput& a, const ModelInput& b) {
  if (a.ids != b.ids || a.types != b.types || a.values.defined() != b.values.defined()) return false;
  if (a.values.data() == b.values.data()) return true;
  return a.values.shape() == b.values.shape() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.bytes()) == 0;
}

void InputSpec::require(InputKind given) const {
  if (given == kind) return;
  throw usage_error(std::string("expected ") + text_of(kind) + ", found " + text_of(given));
}

std::int64_t InputSpec::length_of(const ModelInput& input) const {
  require(input.kind());
  return kind == InputKind::tokens ? std::ssize(input.ids) : length_of(input.values);
}

std::int64_t InputSpec::length_of(const Tensor& values) const {
  if (!(values.shape() == shape))
    throw input_error("the input has a wrong shape").found(values.shape().text()).expected(shape.text());
  if (values.dtype() != DType::f32 || !values.contiguous())
    throw input_error("the input must be contiguous f32").found(name_of(values.dtype()));
  return specials + patch_rows * patch_columns;
}

ModelInput InputSpec::blank() const {
  return kind == InputKind::tokens ? ModelInput({0}, {}) : ModelInput(Tensor::zeros(shape));
}

void InputBuffer::clear() {
  shape_.clear();
  ids_.clear(), types_.clear(), values_.clear();
}

void InputBuffer::add(const ModelInput& input, std::int64_t length, std::uint64_t index) {
  shape_.add(length, index);
  if (input.values.defined()) return values_.push_back(input.values);
  if (!input.types.empty() || !types_.empty()) {
    types_.resize(ids_.size(), 0);
    types_.insert(types_.end(), input.types.begin(), input.types.end());
  }
  ids_.insert(ids_.end(), input.ids.begin(), input.ids.end());
  if (!types_.empty()) types_.resize(ids_.size(), 0);
}

InputBatch InputBuffer::batch() const {
  return {.ids = ids_, .shape = shape_.view(), .types = types_, .values = values_};
}

}  // namespace regard
