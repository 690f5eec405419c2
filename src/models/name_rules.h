// Differences between the tensor names in a family's checkpoints and the model's parameter names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/namespaces.h"

namespace regard::models {

struct NameRules {
  // Prefixes of names ("bert.", "model."). A file may omit a prefix that the model's name has, or have a
  // prefix that the model's name lacks.
  std::vector<std::string> prefixes;
  // Older endings of names: a file may have `second` instead of `first`, such as LayerNorm.gamma instead of
  // LayerNorm.weight.
  std::vector<std::pair<std::string, std::string>> endings;
  // Module names: transformers 5, and adapters of PEFT, have `second` where checkpoints have `first`, such as
  // ".attention.q_proj." for ".attention.attention.query.".
  std::vector<std::pair<std::string, std::string>> modules;
  // Tied weights: a file may contain `first`, `second`, or both with equal values.
  std::vector<std::pair<std::string, std::string>> copies;
  // Fallbacks: `second` is used if the file lacks `first`. If a file may contain both, `ignored` must list
  // `second`.
  std::vector<std::pair<std::string, std::string>> instead;
  // Tensors without effect, such as buffers and unused heads. A tensor whose name contains one of these
  // strings is not used and is saved unmodified.
  std::vector<std::string> ignored;
  // Weights that are never trained, as in the family's reference implementation.
  std::vector<std::string> constants;
};

}  // namespace regard::models
