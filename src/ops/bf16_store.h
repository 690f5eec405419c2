// Activations stored as bf16 while a tape records with Precision::bf16: half the memory until the backward
// pass. These values are stored so: inputs of linear layers, which round them to bf16 anyway, and queries,
// keys, values and contexts of attention. Gradients stay f32.
#pragma once

#include "kernels/rows.h"
#include "ops/tape.h"

namespace regard::ops {

// Return whether layers may store activations as bf16: the tape records in bf16, and nothing reads them as
// f32.
bool stores_bf16(const Tape& tape);

inline bool is_bf16(Var x) {
  return x != nullptr && x->value.dtype() == DType::bf16;
}
// Return whether x is stored as bf16 and an operation of this tape may read it.
inline bool reads_bf16(const Tape& tape, Var x) {
  return is_bf16(x) && x->value.contiguous() && tape.options().precision == kernels::Precision::bf16;
}
inline std::uint16_t* bf16_data(const Tensor& value) {
  return static_cast<std::uint16_t*>(value.data());
}

// Like Tape::make().
Var make_bf16(Tape& tape, Shape shape, bool needs_gradient);

// The values of `value` as f32, contiguous: its own memory, or a copy in the tape's arena.
float* widened(Tape& tape, const Tensor& value);

// Copy `values` [value's shape], f32, to `value`, rounded to bf16.
void store_rounded(Tape& tape, const float* values, const Tensor& value);

// The destructor frees the memory that the tape's arena has allocated since construction. Values that are
// needed longer, such as gradients, may not be allocated in between.
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

// kernels::activate_backward() with x stored as bf16.
void activate_backward_stored(Tape& tape, kernels::Activation activation, const std::uint16_t* x, float* dy,
                              std::int64_t count);

// y = a ∘ b, all stored as bf16.
void multiply_stored(Tape& tape, const Tensor& a, const Tensor& b, const Tensor& y);
// to = x ∘ b, or to += x ∘ b; b stored as bf16.
void multiply_stored(Tape& tape, const float* x, const Tensor& b, const Tape::Gradient& to);

}  // namespace regard::ops
