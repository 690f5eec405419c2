// A layer of an encoder or a decoder: self-attention, optional cross-attention, a feed-forward layer and an
// optional adapter, each as a residual branch. The positions of the norms are configurable.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/feed_forward.h"
#include "nn/multi_head_attention.h"
#include "nn/norm.h"
#include "ops/parameter.h"
#include "ops/ragged.h"

namespace regard::nn {

// Names of the norms in x' = after(x + branch(f(before(x)))); an empty name means that there is no norm.
// Pre-norm uses `before`, post-norm (Vaswani et al. 2017) uses `after`, and Gemma 2 uses `before` and
// `branch`.
struct NormNames {
  std::string before, branch, after;
};

struct BlockConfig {
  AttentionConfig self;
  bool has_cross = false;
  AttentionConfig cross;
  FeedForwardConfig feed_forward;
  std::optional<FeedForwardConfig> adapter;  // a small feed-forward layer after `feed_forward`, as in MMS
  NormConfig norm;
  NormNames self_norm, cross_norm, feed_forward_norm, adapter_norm;  // names without the layer's prefix
  float dropout = 0.0f;  // dropout of each branch except the adapter's, before the residual sum
};

class Block {
 public:
  // prefix: prefix of weight names, such as "encoder.layers.0."; point: prefix of probe points and random
  // draws, such as "encoder.0".
  Block(const std::string& prefix, const std::string& point, const BlockConfig& config);

  // Return [tokens, hidden] for x [tokens, hidden]. `self` and `cross` are the inputs of the two attentions.
  Var forward(Tape& tape, Var x, const AttentionInput& self, const AttentionInput& cross) const;

  // Return the precision of attention for inference.
  kernels::Precision precision() const { return self_->precision(); }

  // append the parameters: for each branch, those of its layer, then those of its norms
  void collect(std::vector<Parameter*>& parameters);
  void prepare_for_inference(const Preparation& how);

 private:
  // The norms of a branch. A norm that the branch does not have is null.
  struct Norms {
    std::unique_ptr<Norm> before, branch, after;
    float dropout = 0.0f;
    std::uint32_t dropout_place = 0;
    void collect(std::vector<Parameter*>& parameters);
  };
  Norms make_norms(const std::string& prefix, const NormNames& names, const BlockConfig& config,
                   const std::string& branch) const;
  BranchEnd end_of(const Norms& norms, Var residual, const Ragged& shape) const;

  std::string point_;
  Norms self_norms_, cross_norms_, feed_forward_norms_, adapter_norms_;
  std::unique_ptr<MultiHeadAttention> self_, cross_;     // cross_ may be null
  std::unique_ptr<FeedForward> feed_forward_, adapter_;  // adapter_ may be null
};

// Return layer(), whose value has the shape of x [tokens, features]. If the tape does not record and x owns
// its memory, copy the result into x, free the arena memory of the layer, and return x. The results of all
// layers then use the same memory.
template <class Layer>
Var in_one_place(Tape& tape, Var x, Layer&& layer) {
  if (tape.recording() || !x->owns_value) return layer();
  const Arena::Mark mark = tape.arena().mark();
  Var y = layer();
  std::memcpy(x->value.f32(), y->value.f32(), x->value.bytes());
  tape.arena().rewind(mark);
  return x;
}

}  // namespace regard::nn
