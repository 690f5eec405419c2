// One or more linear layers with the same input, such as query, key and value. Their weights are stored in
// one block, so one matrix product computes all of them. Each part (layer) has its own names in a checkpoint.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "kernels/precision.h"
#include "nn/low_rank.h"
#include "nn/preparation.h"
#include "ops/parameter.h"
#include "ops/tape.h"

namespace regard::nn {

struct LinearPart {
  std::string name;  // the weight is NAME.weight [out, in], the bias NAME.bias [out]
  std::int64_t out = 0;
  bool bias = true;
  Initialisation initial = {Initialisation::Kind::xavier_uniform, 0.0};
};

class Linear {
 public:
  // If `transposed` is true, the weight is stored as [in, out]; throws usage if there is more than one part.
  Linear(std::int64_t in, const std::vector<LinearPart>& parts, bool transposed = false);

  struct Options {
    kernels::Activation activation = kernels::Activation::none;
    Var residual = nullptr;
    // store the result as bf16 (see ops::LinearOptions); ignored if there are updates
    bool store_bf16 = false;
  };
  // Return activation(x Wᵀ + b) + residual [tokens, sum of the parts' out] for x [tokens, in]. W includes the
  // low-rank updates (low_rank.h).
  Var forward(Tape& tape, Var x, const Options& options) const;
  Var forward(Tape& tape, Var x) const { return forward(tape, x, Options()); }

  // Return the precision of the layer's products for inference (Parameter::Held).
  kernels::Precision precision() const;

  // Return true if x may be stored as bf16 (ops/bf16_store.h). Low-rank updates read x as f32.
  bool reads_bf16() const { return weight_->updates.empty(); }

  // The layer's weight and its bias (null if there is none), for an operation that computes the layer itself.
  struct Variables {
    Var weight, bias;
    bool transposed;
  };
  // Like forward(), discard packed weights if the tape records.
  Variables variables(const Tape& tape) const;

  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }
  std::int64_t column(std::size_t part) const { return columns_[part]; }  // first output feature of the part

  void collect(std::vector<Parameter*>& parameters);
  void prepare_for_inference(const Preparation& how);

 private:
  std::int64_t in_, out_ = 0;
  bool transposed_;
  std::vector<std::int64_t> columns_;
  // The block is allocated separately: parameters contain a pointer to it, so its address must not change.
  std::unique_ptr<LinearBlock> weight_;
  std::unique_ptr<ParameterBlock> bias_;  // biases of all parts; null if no part has one
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::vector<Parameter*> weights_;  // parameters_ without the biases
  void begin_pass(const Tape& tape) const;
  Var forward_updated(Tape& tape, Var x, const Options& options) const;
  void make_ready(ThreadPool& pool);
  // packed weights; discarded when a tape records gradients, because training changes the weights
  mutable kernels::PackedMatrix packed_;
};

}  // namespace regard::nn
