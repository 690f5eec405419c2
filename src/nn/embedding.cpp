#include "nn/embedding.h"

#include "nn/held_weight.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "regard/error.h"

namespace regard::nn {

Embedding::Embedding(const std::string& name, std::int64_t count, std::int64_t size, Initialisation initial)
    : weight_(std::make_unique<Parameter>()) {
  weight_->name = name + ".weight";
  weight_->variable.value = declared({count, size});
  weight_->initial = initial;
  weight_->use = Parameter::Use::table;
}

// If the tape records gradients, discard the packed copy of the weight, or throw usage if the weight is
// stored for inference only (Parameter::is_held()). If the tape records no gradients, pack an inference-only
// weight that is not packed yet.
void Embedding::settle_packed(Tape& tape) const {
  if (weight_->is_held()) {
    if (tape.recording()) throw held_weight_error();
    Parameter* const part = weight_.get();
    if (packed_.empty()) packed_ = pack_held(tape.pool(), {&part, 1}, false);
  } else if (tape.recording() && !packed_.empty()) {
    packed_ = kernels::PackedMatrix();
  }
}

Var Embedding::forward(Tape& tape, std::span<const std::int32_t> ids, float factor,
                       std::int32_t padding) const {
  if (!weight_->is_held()) {
    settle_packed(tape);
    return ops::embedding(tape, &weight_->variable, ids, factor, padding);
  }
  if (tape.recording()) throw held_weight_error();
  const Parameter::Held& held = weight_->held;
  return packed_.empty() ? ops::held_embedding(tape, {held.numbers, held.scale, count()}, ids, factor)
                         : ops::packed_embedding(tape, packed_, ids, factor);
}

Var Embedding::logits(Tape& tape, Var hidden, Var bias) const {
  settle_packed(tape);
  ops::LinearOptions options;
  options.packed = &packed_;
  return ops::linear(tape, hidden, &weight_->variable, bias, options);
}

Var Embedding::loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
                    const ops::CrossEntropyOptions& options, Var bias) const {
  settle_packed(tape);
  return ops::linear_cross_entropy(tape, hidden, &weight_->variable, bias, labels, options, &packed_);
}

void Embedding::prepare_for_inference(const Preparation& how) {
  Parameter* const part = weight_.get();
  how.each(stored_bytes({&part, 1}), [&](ThreadPool& pool) { make_ready(pool); });
}

void Embedding::make_ready(ThreadPool& pool) {
  if (weight_->is_held()) {
    Parameter* const part = weight_.get();
    if (packed_.empty()) packed_ = pack_held(pool, {&part, 1}, false);
    return;
  }
  if (weight_->mapped) return;  // packing would duplicate a mapped weight in memory
  packed_ = kernels::pack(pool, weight_->variable.value.f32(), size(), true, size(), count());
}

}  // namespace regard::nn
