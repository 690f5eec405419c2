// How a family's checkpoints name their tensors where that is not the model's own name for them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace regard {

struct NameRules {
  // Prefixes that a file may leave out, or have although the model's name has none ("bert.", "model.").
  std::vector<std::string> prefixes;
  // Older endings: a name that ends in `first` may be stored ending in `second` (LayerNorm.weight, .gamma).
  std::vector<std::pair<std::string, std::string>> endings;
  // Tied weights: a file may hold `second` beside the weight `first`, and then as an equal copy; or `second`
  // alone.
  std::vector<std::pair<std::string, std::string>> copies;
  // A weight that a file may lack if it has `second`; where it has both, `second` changes nothing.
  std::vector<std::pair<std::string, std::string>> instead;
  // Tensors that change nothing: buffers, and heads that this architecture does not use. A name that contains
  // one of these is left alone and written back as it was.
  std::vector<std::string> ignored;
  // Weights that the family's own code does not train.
  std::vector<std::string> constants;
};

}  // namespace regard
