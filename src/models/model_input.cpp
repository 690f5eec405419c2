#include "models/model_input.h"

#include <cstring>
#include <string>

#include "base/counted.h"
#include "ops/check.h"
#include "regard/error.h"

namespace regard::models {
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
  throw usage_error("the model does not read this kind of input")
      .expected(text_of(kind))
      .found(text_of(given));
}

std::int64_t InputSpec::length_of(const ModelInput& input) const {
  require(input.kind());
  return kind == InputKind::tokens ? std::ssize(input.ids) : length_of(input.values);
}

std::int64_t InputSpec::fewest_frames() const {
  std::int64_t frames = 1;
  for (const auto* layers : {&output_windows, &windows})
    for (auto window = layers->rbegin(); window != layers->rend(); ++window)
      frames = window->input_frames(frames);
  return frames;
}

std::int64_t InputSpec::output_length(std::int64_t positions) const {
  for (const FrameWindow& window : output_windows) positions = window.output_frames(positions);
  return positions;
}

std::int64_t InputSpec::length_of(const Tensor& values) const {
  const bool any_length = kind == InputKind::features && shape[0] == 0;
  const Shape& given = values.shape();
  if (any_length ? given.rank() != 2 || given[1] != shape[1] : !(given == shape))
    throw input_error("the input has a wrong shape")
        .found(given.text())
        .expected(any_length ? "[frames, " + std::to_string(shape[1]) + "]" : shape.text());
  if (values.dtype() != DType::f32 || !values.contiguous())
    throw input_error("the input has a wrong dtype or is not contiguous")
        .found(std::string(name_of(values.dtype())) + (values.contiguous() ? "" : ", not contiguous"))
        .expected("f32, contiguous");
  if (windows.empty()) return specials + patch_rows * patch_columns;
  std::int64_t frames = given[0];
  for (const FrameWindow& window : windows) frames = window.output_frames(frames);
  if (output_length(frames) < 1)
    throw input_error("the sound is too short for the model")
        .found(counted(given[0], "sample"))
        .expected("at least " + std::to_string(fewest_frames()) + " samples");
  return frames;
}

ModelInput InputSpec::blank() const {
  if (kind == InputKind::tokens) return ModelInput({0}, {});
  if (kind == InputKind::features && shape[0] == 0)
    return ModelInput(Tensor::zeros({fewest_frames(), shape[1]}));
  return ModelInput(Tensor::zeros(shape));
}

void require_unmasked_text(const InputBatch& batch, const std::string& network) {
  if (!batch.values.empty()) throw usage_error("expected text input, found features or an image");
  ops::require_ragged("model", batch.shape, std::ssize(batch.ids));
  for (std::size_t t = 0; batch.attended != nullptr && t < batch.ids.size(); ++t)
    if (batch.attended[t] == 0)
      throw usage_error(network + " cannot skip padding within a sequence")
          .remedy("Pass sequences without padding");
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

}  // namespace regard::models
