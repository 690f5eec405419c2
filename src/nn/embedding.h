// Embedding table with one vector per id. The same weight may also be used as the output projection (Press
// and Wolf 2017).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "nn/preparation.h"
#include "ops/cross_entropy.h"
#include "ops/parameter.h"
#include "ops/tape.h"

namespace regard::nn {

class Embedding {
 public:
  // The weight is NAME.weight [count, size], where NAME is `name`.
  Embedding(const std::string& name, std::int64_t count, std::int64_t size, Initialisation initial);

  // Return factor · (the rows of the table for `ids`) [tokens, size]. ops::embedding() explains `padding`.
  Var forward(Tape& tape, std::span<const std::int32_t> ids, float factor = 1.0f,
              std::int32_t padding = -1) const;

  // Use the table as an output projection: return logits [tokens, count], or the loss without storing the
  // logits.
  Var logits(Tape& tape, Var hidden, Var bias = nullptr) const;
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
           const ops::CrossEntropyOptions& options, Var bias = nullptr) const;

  std::int64_t count() const { return weight_->variable.value.shape()[0]; }
  std::int64_t size() const { return weight_->variable.value.shape()[1]; }
  Parameter& weight() { return *weight_; }

  void collect(std::vector<Parameter*>& parameters) { parameters.push_back(weight_.get()); }
  // Pack the weight as an output projection. Look-ups read the packed copy if the weight is stored for
  // inference only (Parameter::is_held()). Any other weight that is mapped from a file is not packed.
  void prepare_for_inference(const Preparation& how);

 private:
  void settle_packed(Tape& tape) const;
  void make_ready(ThreadPool& pool);
  std::unique_ptr<Parameter> weight_;
  // packed weight; discarded when a tape records gradients, because training changes the weight
  mutable kernels::PackedMatrix packed_;
};

}  // namespace regard::nn
