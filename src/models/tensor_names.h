// Match the tensors of a file with the weights of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "formats/weights.h"
#include "models/network.h"
#include "ops/parameter.h"

namespace regard::models {

struct Bound {
  Parameter* parameter;
  std::string name;                 // name of the tensor in the file
  std::vector<std::string> copies;  // other names of the same weight in the file
  std::string scale = {};           // for int8 weights: name of the tensor with the scale of each output
};

struct Binding {
  std::vector<Bound> weights;
  std::vector<std::string> ignored;  // unused tensors of the file that NameRules::ignored allows
};

// Return the name of an int8 tensor's scales [out, 1], or [1, out] if the weight is stored as [in, out].
inline std::string scale_name(const std::string& name) {
  return name + "_scale";
}

// Translate the model's weight name `name` to the name used in the file, with the family's NameRules. Return
// std::nullopt if the file does not contain the weight.
std::optional<std::string> find_tensor(const std::string& name, const NameRules& rules,
                                       const formats::Weights& weights);

// Find every weight of the model in the file. Throws bad_file for missing and for unused tensors.
Binding bind(Network& model, const formats::Weights& weights);

}  // namespace regard::models
