// The position-wise feed-forward layer (Vaswani et al. 2017, section 3.3), plain or gated (Shazeer 2020).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/branch.h"
#include "nn/linear.h"
#include "ops/parameter.h"

namespace regard::nn {

struct FeedForwardConfig {
  std::int64_t hidden = 0, inner = 0;
  kernels::Activation activation = kernels::Activation::relu;
  // gated layer: if true, down(activation(gate x) ∘ up x); if false, down(activation(up x))
  bool gated = false;
  bool bias = true;
  bool transposed = false;  // weights are stored as [in, out] (GPT-2)
  float dropout = 0.0f;     // dropout after the activation
  Initialisation output_initial = {Initialisation::Kind::xavier_uniform, 0.0};
  Initialisation initial = {Initialisation::Kind::xavier_uniform, 0.0};
  std::string up = "up", gate = "gate", down = "down";  // names without the layer's prefix
};

class FeedForward {
 public:
  FeedForward(const std::string& prefix, const std::string& point, const FeedForwardConfig& config);

  Var forward(Tape& tape, Var x, const BranchEnd& end) const;

  bool reads_bf16() const;  // returns true if x may be stored as bf16

  const std::string& point() const { return point_; }

  void collect(std::vector<Parameter*>& parameters);
  void prepare_for_inference(const Preparation& how);

 private:
  bool is_one_operation(const Tape& tape) const;
  FeedForwardConfig config_;
  std::string point_;
  std::uint32_t dropout_place_;
  std::unique_ptr<Linear> gate_, up_, down_;  // gate_ may be null
};

}  // namespace regard::nn
