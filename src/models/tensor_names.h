// Which tensors of a file are which weights of a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/weights.h"
#include "models/network.h"

namespace regard {

struct Bound {
  Parameter* parameter;
  std::string name;                 // in the file
  std::vector<std::string> copies;  // other names of the same weight in the file
  std::string scale = {};           // of an int8 weight: the tensor with its outputs' scales
};

struct Binding {
  std::vector<Bound> weights;
  std::vector<std::string> ignored;  // tensors of the file that change nothing
};

// The scales of an int8 tensor: [out, 1], or [1, out] where the weight lies as [in, out].
inline std::string scale_name(const std::string& name) {
  return name + "_scale";
}

// The file's name for what the model's family calls `name`, by its NameRules.
std::optional<std::string> find_tensor(const std::string& name, const NameRules& rules,
                                       const formats::Weights& weights);

// Finds every weight by the model's NameRules. Throws bad_file for a tensor that is missing, or left over.
Binding bind(Network& model, const formats::Weights& weights);

}  // namespace regard
