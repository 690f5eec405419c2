// Storage of activations as bf16 while a tape records with Precision::bf16; this halves their memory. It
// applies to the inputs of linear layers and to the queries, keys, values and outputs of attention. Gradients
// are f32.
#pragma once

#include "base/namespaces.h"
#include "kernels/rows.h"
#include "ops/tape.h"

namespace regard::ops {

// Return true if layers may store activations as bf16: the tape records in bf16, without Options::keep and
// without a probe.
bool stores_bf16(const Tape& tape);

inline bool is_bf16(Var x) {
  return x != nullptr && x->value.dtype() == DType::bf16;
}
// Return true if an operation may read x as bf16: x is contiguous bf16, and the tape computes in bf16.
inline bool reads_bf16(const Tape& tape, Var x) {
  return is_bf16(x) && x->value.contiguous() && tape.options().precision == kernels::Precision::bf16;
}
inline std::uint16_t* bf16_data(const Tensor& value) {
  return static_cast<std::uint16_t*>(value.data());
}

// Like Tape::make(), but the value is bf16.
Var make_bf16(Tape& tape, Shape shape, bool needs_gradient);

// Return contiguous f32 values: the memory of `value` itself, or a converted copy in the tape's arena.
float* widened(Tape& tape, const Tensor& value);

// Round the f32 `values`, which have the shape of `value`, to bf16 and store them in `value`.
void store_rounded(Tape& tape, const float* values, const Tensor& value);

// The destructor frees the memory that the tape's arena has allocated since construction. While this object
// exists, do not allocate values that are used after its destruction, such as gradients.
class TemporaryValues {
 public:
  explicit TemporaryValues(Tape& tape) : arena_(tape.arena()), mark_(arena_.mark()) {}
  ~TemporaryValues() { arena_.rewind(mark_); }
  TemporaryValues(const TemporaryValues&) = delete;
  TemporaryValues& operator=(const TemporaryValues&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

// Like kernels::activate_backward(), but x is stored as bf16. dy is changed in place.
void activate_backward_stored(Tape& tape, kernels::Activation activation, const std::uint16_t* x, float* dy,
                              std::int64_t count);

// Compute y = a ∘ b, where all three are stored as bf16.
void multiply_stored(Tape& tape, const Tensor& a, const Tensor& b, const Tensor& y);
// Compute to = x ∘ b, or to += x ∘ b if to.accumulate. b is stored as bf16.
void multiply_stored(Tape& tape, const float* x, const Tensor& b, const Tape::Gradient& to);

}  // namespace regard::ops
