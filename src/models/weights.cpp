#include "models/weights.h"

#include <cstring>
#include <unordered_set>

namespace regard {
namespace {

void check_tensor(const Parameter& parameter, const formats::Weights& weights) {
  const formats::TensorEntry& entry = weights.entry(parameter.name);
  const auto expected = parameter.value().shape().sizes();
  const auto text = [](std::span<const std::int64_t> sizes) {
    return Json(std::vector(sizes.begin(), sizes.end())).dump();
  };
  if (!std::equal(entry.shape.begin(), entry.shape.end(), expected.begin(), expected.end()))
    throw file_error(weights.label(), "tensor \"" + parameter.name + "\" does not fit the config")
        .found("shape " + text(entry.shape))
        .expected(text(expected));
  if (!formats::dtype_of(entry.dtype))
    throw file_error(weights.label(), "tensor \"" + parameter.name + "\": its dtype cannot be computed with")
        .found(entry.dtype);
}

void set(Parameter& parameter, const Tensor& stored) {
  const Tensor converted = stored.dtype() == DType::f32 ? stored : stored.to(DType::f32);
  if (converted.bytes() != 0) std::memcpy(parameter.variable.value.f32(), converted.f32(), converted.bytes());
}

}  // namespace

void load_weights(Network& model, const formats::Weights& weights) {
  const std::vector<Parameter*> parameters = model.parameters();
  std::unordered_set<std::string_view> known;
  for (const Parameter* parameter : parameters) {
    check_tensor(*parameter, weights);
    known.insert(parameter->name);
  }
  for (const std::string& name : weights.names())
    if (!known.contains(name))
      throw file_error(weights.label(), "tensor \"" + name + "\" is not part of the model");
  for (Parameter* parameter : parameters) {
    set(*parameter, weights.tensor(parameter->name));
    weights.release(parameter->name);
  }
}

std::vector<formats::NamedTensor> weights_of(Network& model) {
  std::vector<formats::NamedTensor> tensors;
  for (const Parameter* parameter : model.parameters())
    tensors.push_back({parameter->name, parameter->value()});
  return tensors;
}

std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) {
  std::unique_ptr<Network> model = make_model(folder.config, folder.config_file);
  load_weights(*model, folder.weights());
  return model;
}

}  // namespace regard
