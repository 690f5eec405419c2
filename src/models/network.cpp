#include "models/network.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/random.h"
#include "models/families/families.h"
#include "models/quantize.h"
#include "models/sequence_config.h"
#include "models/transformer.h"
#include "nn/cache.h"
#include "ops/parameter.h"

namespace regard::models {

Error without_part(const std::string& part) {
  return usage_error("this model has no " + part).remedy("Use a model that has one");
}

Var Network::head(Tape&, Var, const InputBatch&) {
  throw without_part("output head");
}

Var Network::pooled(Tape&, Var, const Ragged&) {
  throw without_part("pooler");
}

void Network::fit_to_file(const std::function<bool(const std::string& name)>&) {}

const NameRules& Network::name_rules() const {
  static const NameRules none;
  return none;
}

namespace {

using Kind = Initialisation::Kind;

void fill(Parameter& parameter, std::uint64_t seed) {
  const Tensor& value = parameter.variable.value;
  float* data = value.f32();
  const std::int64_t count = value.elements();
  RandomStream stream({seed, 0, place_of(parameter.name)});
  switch (parameter.initial.kind) {
    case Kind::zeros:
    case Kind::ones:
      std::fill_n(data, count, parameter.initial.kind == Kind::ones ? 1.0f : 0.0f);
      break;
    case Kind::constant:
      std::fill_n(data, count, static_cast<float>(parameter.initial.value));
      break;
    case Kind::normal:
      for (std::int64_t i = 0; i < count; ++i)
        data[i] = static_cast<float>(parameter.initial.value * stream.next_normal());
      break;
    case Kind::xavier_uniform: {
      const double bound = std::sqrt(6.0 / static_cast<double>(value.rows() + value.columns()));
      for (std::int64_t i = 0; i < count; ++i)
        data[i] = static_cast<float>(bound * (2.0 * static_cast<double>(stream.next_uniform()) - 1.0));
      break;
    }
  }
}

}  // namespace

void Network::set_trainable(bool trainable) {
  const std::vector<std::string>& constants = name_rules().constants;
  for (Parameter* parameter : parameters())
    if (std::find(constants.begin(), constants.end(), parameter->name) == constants.end())
      parameter->set_trainable(trainable);
}

void Network::clear_gradients() {
  for (Parameter* parameter : parameters()) parameter->clear_gradient();
}

std::int64_t Network::parameter_count() {
  std::int64_t count = 0;
  for (const Parameter* parameter : parameters()) count += parameter->variable.value.elements();
  return count;
}

void initialise(Network& model, std::uint64_t seed) {
  for (Parameter* parameter : model.parameters()) {
    parameter->allocate();
    fill(*parameter, seed);
  }
}

std::unique_ptr<Network> make_model(const Json& config, const std::string& file) {
  if (!config.is_object())
    throw file_error(file, "the configuration is not a JSON object").found(describe(config));
  // int8 storage does not change the architecture, so build the network of the unquantised model
  if (is_quantized(config)) {
    Json plain = config;
    set_quantization(plain, false);
    return make_model(plain, file);
  }
  const std::string family = require<std::string>(config, "model_type", file);
  if (family == kTransformerType) return make_transformer(TransformerConfig::from_json(config, file));
  if (is_sequence_type(family)) return make_sequence_model(config, file);
  return families::build(config, file);
}

}  // namespace regard::models
