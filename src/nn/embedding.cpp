#include "nn/embedding.h"

#include "ops/embedding.h"
#include "ops/linear.h"

namespace regard::nn {

Embedding::Embedding(const std::string& name, std::int64_t count, std::int64_t size, Initialisation initial)
    : weight_(std::make_unique<Parameter>()) {
  weight_->name = name + ".weight";
  weight_->variable.value = declared({count, size});
  weight_->initial = initial;
}

void Embedding::forget_packed(const Tape& tape) const {
  if (tape.recording() && !packed_.empty()) packed_ = kernels::PackedMatrix();
}

Var Embedding::forward(Tape& tape, std::span<const std::int32_t> ids, float factor,
                       std::int32_t padding) const {
  forget_packed(tape);
  return ops::embedding(tape, &weight_->variable, ids, factor, padding);
}

Var Embedding::logits(Tape& tape, Var hidden, Var bias) const {
  forget_packed(tape);
  ops::LinearOptions options;
  options.packed = &packed_;
  return ops::linear(tape, hidden, &weight_->variable, bias, options);
}

Var Embedding::loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
                    const ops::CrossEntropyOptions& options, Var bias) const {
  forget_packed(tape);
  return ops::linear_cross_entropy(tape, hidden, &weight_->variable, bias, labels, options, &packed_);
}

void Embedding::prepare_for_inference(ThreadPool& pool) {
  if (weight_->mapped) return;  // as nn::Linear's
  packed_ = kernels::pack(pool, weight_->variable.value.f32(), size(), true, size(), count());
}

}  // namespace regard::nn
