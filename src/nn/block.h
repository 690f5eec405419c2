// A layer of an encoder or a decoder: self-attention, cross-attention where there is a memory, feed-forward;
// each a branch that is added to what it started from. Where the norms stand is configuration.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "nn/feed_forward.h"
#include "nn/multi_head_attention.h"
#include "nn/norm.h"

namespace regard::nn {

// x' = after(x + branch(f(before(x)))): pre-norm has `before`, post-norm (Vaswani et al. 2017) `after`, Gemma
// 2 `before` and `branch`. Named norms exist; an empty name is none.
struct NormNames {
  std::string before, branch, after;
};

struct BlockConfig {
  AttentionConfig self;
  bool has_cross = false;
  AttentionConfig cross;
  FeedForwardConfig feed_forward;
  NormConfig norm;
  NormNames self_norm, cross_norm, feed_forward_norm;  // under the layer's prefix
  float dropout = 0.0f;                                // of each branch before it is added
};

class Block {
 public:
  // prefix: of the weights' names ("encoder.layers.0."); point: for probes and random draws ("encoder.0").
  Block(const std::string& prefix, const std::string& point, const BlockConfig& config);

  // x [tokens, hidden] → [tokens, hidden]. `self` and `cross` say what the two attentions get.
  Var forward(Tape& tape, Var x, const AttentionInput& self, const AttentionInput& cross) const;

  void collect(std::vector<Parameter*>& parameters);  // in the order of the data's way
  void prepare_for_inference(const Preparation& how);

 private:
  // A branch's norms; null: none.
  struct Norms {
    std::unique_ptr<Norm> before, branch, after;
    std::uint32_t dropout_place = 0;
    void collect(std::vector<Parameter*>& parameters);
  };
  Norms make_norms(const std::string& prefix, const NormNames& names, const BlockConfig& config,
                   const std::string& branch) const;
  BranchEnd end_of(const Norms& norms, Var residual, const Ragged& shape) const;

  std::string point_;
  float dropout_;
  Norms self_norms_, cross_norms_, feed_forward_norms_;
  std::unique_ptr<MultiHeadAttention> self_, cross_;  // cross_ may be null
  std::unique_ptr<FeedForward> feed_forward_;
};

// layer() computed from x [tokens, features], of x's shape. Where nothing is recorded, the memory that it
// took is given back and the result put where x was (which the tape must own), so that all layers use the
// same memory.
template <class Layer>
Var in_one_place(Tape& tape, Var x, Layer&& layer) {
  if (tape.recording() || !x->owns_value) return layer();
  const Arena::Mark mark = tape.arena().mark();
  const Var y = layer();
  std::memcpy(x->value.f32(), y->value.f32(), x->value.bytes());
  tape.arena().rewind(mark);
  return x;
}

}  // namespace regard::nn
