// Attention pooling of SigLIP (transformers' SiglipMultiheadAttentionPoolingHead): for each image, a learned
// query attends to all patches, followed by a feed-forward layer. A Probe (ops/probe.h) receives the values
// under the names of a decoder's first layer: "decoder.0.cross" and "decoder.0.feed_forward".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/feed_forward.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/parameter.h"
#include "ops/ragged.h"

namespace regard::models {

// Configuration of the attention pooling. The names of the weights begin with `prefix`: probe [1, 1, hidden];
// attention.in_proj_weight [3 · hidden, hidden] and attention.in_proj_bias (query, key, value, as in
// torch.nn.MultiheadAttention); attention.out_proj; layernorm; mlp.fc1; mlp.fc2.
struct AttentionPoolingConfig {
  std::string prefix;
  std::int64_t hidden = 0, heads = 1, inner = 0;
  kernels::Activation activation = kernels::Activation::gelu_tanh;
  nn::NormConfig norm;
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
};

class AttentionPooling {
 public:
  explicit AttentionPooling(const AttentionPoolingConfig& config);

  // Return a + mlp(norm(a)) [sequences, hidden], where a is the output of the attention. `hidden` contains
  // the hidden states [tokens, hidden] of a batch, and `shape` is the shape of that batch.
  Var forward(Tape& tape, Var hidden, const Ragged& shape) const;

  void collect(std::vector<Parameter*>& parameters) const;
  void prepare_for_inference(const nn::Preparation& how) const;

 private:
  AttentionPoolingConfig config_;
  std::unique_ptr<Parameter> probe_;
  std::unique_ptr<nn::Linear> joint_, output_;
  std::unique_ptr<nn::Norm> norm_;
  std::unique_ptr<nn::FeedForward> feed_forward_;
};

}  // namespace regard::models
