#include "models/quantize.h"

#include <cmath>
#include <string>

#include "kernels/bf16.h"
#include "kernels/int8.h"
#include "ops/parameter.h"
#include "regard/error.h"
#include "tensor/transposed.h"

namespace regard::models {
namespace {

constexpr const char* kKey = "quantization_config";

Parameter::Held quantized(ThreadPool& pool, const Parameter& parameter) {
  const bool across = parameter.use == Parameter::Use::transposed_linear;
  const Tensor value = across ? transposed(parameter.widened()) : parameter.widened();
  Parameter::Held held;
  held.numbers = Tensor::empty(value.shape(), DType::i8);
  held.scale = Tensor::empty({value.rows()});
  kernels::quantise_rows(pool, value.f32(), value.columns(), value.rows(), value.columns(),
                         static_cast<std::int8_t*>(held.numbers.data()), held.scale.f32());
  for (std::int64_t row = 0; row < value.rows(); ++row)
    if (!std::isfinite(held.scale.f32()[row]))
      throw Error(ErrorKind::numeric, "the weight \"" + parameter.name + "\" is not finite")
          .found("a NaN or infinity in output " + std::to_string(row));
  if (across) held.numbers = transposed(held.numbers);
  return held;
}

// Call body(parameter) for each weight except those with Use::other. If `body` returns true, release the
// memory-mapped pages that contained the weight.
template <class Body>
void for_each_matrix(Network& model, Body&& body) {
  for (Parameter* parameter : model.parameters()) {
    if (parameter->use == Parameter::Use::other) continue;
    const std::function<void()> let_go = parameter->is_held() ? parameter->held.let_go : nullptr;
    if (body(*parameter) && let_go) let_go();
  }
}

}  // namespace

void quantize(Network& model) {
  ThreadPool pool(1);
  for_each_matrix(model, [&](Parameter& parameter) {
    const Shape& shape = parameter.value().shape();
    const std::int64_t inputs = shape[parameter.use == Parameter::Use::transposed_linear ? 0 : 1];
    if (inputs > kernels::kLongestInt8Sum || (parameter.is_held() && parameter.held.dtype == DType::i8))
      return false;
    parameter.hold(quantized(pool, parameter));
    return true;
  });
}

void hold_as(Network& model, DType dtype) {
  if (dtype == DType::i8) return quantize(model);
  for_each_matrix(model, [&](Parameter& parameter) {
    Parameter::Held held;
    held.numbers = parameter.widened().to(dtype);
    parameter.hold(std::move(held));
    return true;
  });
}

void compute_in_bf16(Network& model) {
  kernels::require_bf16("the precision bf16");
  for_each_matrix(model, [&](Parameter& parameter) {
    const bool held = parameter.is_held();
    if (held && parameter.held.dtype == DType::i8)
      throw usage_error("a model with int8 weights cannot compute in bf16")
          .remedy("Use the precision f32, or the model from which it was quantised");
    const bool as_stored = held && parameter.held.dtype == DType::bf16;
    Parameter::Held rounded = as_stored ? parameter.held : Parameter::Held();
    if (!as_stored) rounded.numbers = parameter.widened().to(DType::bf16);
    rounded.precision = kernels::Precision::bf16;
    parameter.hold(std::move(rounded));
    return !as_stored;
  });
}

bool set_quantization(Json& config, bool int8) {
  if (is_quantized(config) == int8) return false;
  if (!int8) return config.erase(kKey) > 0;
  config[kKey] = {{"quant_method", "regard"},
                  {"bits", 8},
                  {"symmetric", true},
                  {"weights", "per output channel: NAME (I8) times NAME_scale (F32)"},
                  {"activations", "per token, at run time"}};
  return true;
}

bool is_quantized(const Json& config) {
  const auto key = config.find(kKey);
  return key != config.end() && key->is_object() && key->value("quant_method", Json()) == Json("regard");
}

}  // namespace regard::models
