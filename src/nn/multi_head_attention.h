// Multi-head attention (Vaswani et al. 2017, section 3.2.2) with its projections. It attends to the batch's
// own tokens or to an encoder's output, with or without a cache.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/branch.h"
#include "nn/cache.h"
#include "nn/linear.h"
#include "nn/memory.h"
#include "nn/norm.h"
#include "nn/positions.h"
#include "ops/attention.h"
#include "ops/parameter.h"
#include "ops/ragged.h"

namespace regard::nn {

// Configuration of a MultiHeadAttention. In the fields of AttentionSpec, 0 means the default; the default of
// head_dim is hidden / heads.
struct AttentionConfig : kernels::AttentionSpec {
  std::int64_t hidden = 0;         // features of the input
  std::int64_t memory_hidden = 0;  // features of the memory (cross-attention); 0 means hidden
  bool cross = false;              // true for cross-attention: keys and values are computed from a memory
  bool query_bias = true, key_bias = true, value_bias = true, output_bias = true;
  // Names of the norms that are applied to the query and the key vector of each head before rotary positions
  // (Qwen 3), with weights that all heads share. Empty if there are no such norms.
  std::string query_norm, key_norm;
  NormConfig head_norm;
  // If true, query, key and value have one joint weight with the name `query`. In cross-attention, key and
  // value have one joint weight with the name `key` (GPT-2).
  bool joint = false;
  bool transposed = false;  // weights are stored as [in, out] (GPT-2)
  Initialisation output_initial = {Initialisation::Kind::xavier_uniform, 0.0};
  Initialisation initial = {Initialisation::Kind::xavier_uniform, 0.0};
  // Names of the projections, without the layer's prefix.
  std::string query = "query", key = "key", value = "value", output = "output";

  AttentionConfig completed() const;  // returns the configuration with each default replaced by its value
};

// Arguments of forward() other than x. Null or empty means absent.
struct AttentionInput : kernels::AttentionMask, ops::AttentionBias {
  const Ragged* shape = nullptr;      // the batch of the queries
  const Memory* memory = nullptr;     // memory to attend to, for cross-attention
  Cache* cache = nullptr;             // key/value cache; not allowed if the tape records
  std::int64_t layer = 0;             // index of the layer in the cache
  RotaryPositions* rotary = nullptr;  // rotary positions, for self-attention
};

// Ablation: return the outputs of all heads, `context` [tokens, heads · size], with each head's output
// multiplied by ops::Probe::head_scale() of the tape's probe. `point` is the layer's probe point.
Var scaled_by_probe(Tape& tape, std::string_view point, std::int64_t heads, Var context);

class MultiHeadAttention {
 public:
  // prefix: prefix of weight names, such as "decoder.layers.0.cross_attention."; point: prefix of probe
  // points and random draws, such as "decoder.0.cross".
  MultiHeadAttention(const std::string& prefix, const std::string& point, const AttentionConfig& config);

  // Return [tokens, hidden] for x [tokens, hidden]. `end` describes dropout, norm and residual of the branch.
  Var forward(Tape& tape, Var x, const AttentionInput& input, const BranchEnd& end) const;

  bool reads_bf16() const { return query_->reads_bf16(); }  // true if x may be stored as bf16

  // Return the precision of the attention for inference, which is the precision of its projections.
  kernels::Precision precision() const { return query_->precision(); }

  const std::string& point() const { return point_; }

  void collect(std::vector<Parameter*>& parameters);
  void prepare_for_inference(const Preparation& how);

 private:
  // Query, key and value of the batch's tokens: columns of one joint variable. With head norms, query and key
  // are separate variables.
  struct Projected {
    ops::Columns query, key, value;
  };
  Projected project(Tape& tape, Var x, const AttentionInput& input) const;
  Var normed_heads(Tape& tape, const Norm& norm, ops::Columns x, std::int64_t heads) const;
  Var attend_self(Tape& tape, Var x, const AttentionInput& input) const;
  Var attend_cross(Tape& tape, Var x, const AttentionInput& input) const;
  Var attend_cache(Tape& tape, ops::Columns query, const AttentionInput& input) const;
  void append(Tape& tape, const Projected& projected, const AttentionInput& input) const;
  void cache_memory(Tape& tape, const AttentionInput& input) const;
  ops::AttentionOptions options_for(const Tape& tape, const AttentionInput& input) const;
  bool stores_projections(const Tape& tape) const;

  AttentionConfig config_;
  std::string point_;
  std::uint32_t dropout_place_;
  // Self-attention: query_ computes query, key and value. Cross-attention: key_value_ computes key and value.
  std::unique_ptr<Linear> query_, key_value_, output_;
  std::unique_ptr<Norm> query_norm_, key_norm_;  // norms of each head; both are null if there are none
};

}  // namespace regard::nn
