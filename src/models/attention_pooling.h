// Attention pooling of SigLIP (transformers' SiglipMultiheadAttentionPoolingHead): one learned query per
// image attends to all of its patches, followed by a feed-forward layer. Its probe points are those of a
// decoder of one layer and one position: "decoder.0.cross" and "decoder.0.feed_forward".
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

// Configuration of the pooling. Its weights are PREFIXprobe [1, 1, hidden]; PREFIXattention.in_proj_weight [3
// · hidden, hidden] and in_proj_bias, in the order query, key, value (torch.nn.MultiheadAttention);
// PREFIXattention.out_proj, PREFIXlayernorm, PREFIXmlp.fc1 and PREFIXmlp.fc2.
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

  // Return a + mlp(norm(a)) [sequences, hidden], where a is the output of the attention. `hidden` is [tokens,
  // hidden] of the batch `shape`.
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
