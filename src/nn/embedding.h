// A table of vectors, one for each id; it may also serve, transposed, as the output projection (Press and
// Wolf 2017), which shares the weight.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/gemm.h"
#include "nn/preparation.h"
#include "ops/cross_entropy.h"
#include "ops/tape.h"

namespace regard::nn {

class Embedding {
 public:
  // NAME.weight [count, size]
  Embedding(const std::string& name, std::int64_t count, std::int64_t size, Initialisation initial);

  // padding: as ops::embedding has it.
  Var forward(Tape& tape, std::span<const std::int32_t> ids, float factor = 1.0f,
              std::int32_t padding = -1) const;

  // As an output projection: logits [tokens, count], and the loss without them.
  Var logits(Tape& tape, Var hidden, Var bias = nullptr) const;
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
           const ops::CrossEntropyOptions& options, Var bias = nullptr) const;

  std::int64_t count() const { return weight_->variable.value.shape()[0]; }
  std::int64_t size() const { return weight_->variable.value.shape()[1]; }
  Parameter& weight() { return *weight_; }

  void collect(std::vector<Parameter*>& parameters) { parameters.push_back(weight_.get()); }
  // Packs it as an output projection; look-ups then read that.
  void prepare_for_inference(const Preparation& how);

 private:
  void settle_packed(Tape& tape) const;
  void make_ready(ThreadPool& pool);
  std::unique_ptr<Parameter> weight_;
  mutable kernels::PackedMatrix packed_;  // dropped by a recording pass: the weight is about to change
};

}  // namespace regard::nn
