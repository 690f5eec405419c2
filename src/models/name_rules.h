// Differences between the tensor names in a family's checkpoints and the model's parameter names.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace regard {

struct NameRules {
  // Prefixes that a file may omit from, or add to, the model's name ("bert.", "model.").
  std::vector<std::string> prefixes;
  // Older endings: `first` at the end of a name may be stored as `second` (LayerNorm.weight,
  // LayerNorm.gamma).
  std::vector<std::pair<std::string, std::string>> endings;
  // Tied weights: a file may contain `second` in addition to the weight `first`, as an equal copy, or
  // `second` only.
  std::vector<std::pair<std::string, std::string>> copies;
  // Fallbacks: `second` is used if the file has no `first`. If it has both, `second` must match `ignored`.
  std::vector<std::pair<std::string, std::string>> instead;
  // Tensors without effect: buffers, and heads that this architecture does not use. A tensor whose name
  // contains one of these strings is not used and is saved unmodified.
  std::vector<std::string> ignored;
  // Weights that are never trained, as in the family's reference code.
  std::vector<std::string> constants;
};

}  // namespace regard
