// Layer norm or RMS norm with its weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "ops/norm.h"
#include "ops/parameter.h"

namespace regard::nn {

struct NormConfig {
  bool rms = false;
  bool bias = true;  // layer norm only
  double epsilon = 1e-5;
  double gain_offset = 0.0;  // constant added to the gains: 1 for Gemma, whose gains are initialised to 0
};

class Norm {
 public:
  Norm(const std::string& name, std::int64_t size, const NormConfig& config);  // NAME.weight, NAME.bias

  // Normalise each row of x [tokens, size], then apply gain and bias. ops::NormOptions explains `store_bf16`.
  Var forward(Tape& tape, Var x, bool store_bf16 = false) const;

  void collect(std::vector<Parameter*>& parameters);

 private:
  ops::NormOptions options_;
  std::unique_ptr<Parameter> gain_, bias_;  // bias_ may be null
};

}  // namespace regard::nn
