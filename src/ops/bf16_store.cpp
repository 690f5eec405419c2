#include "ops/bf16_store.h"

#include <algorithm>

#include "kernels/bf16.h"

namespace regard::ops {
namespace {

constexpr std::int64_t kChunk = 1 << 18;  // number of values that are widened at a time

// Divide `count` values into chunks of at most kChunk values, and call body(begin, chunk size) for each.
template <class Body>
void in_chunks(std::int64_t count, Body&& body) {
  for (std::int64_t begin = 0; begin < count; begin += kChunk) body(begin, std::min(kChunk, count - begin));
}

float* buffer(Tape& tape, std::int64_t count) {
  return tape.arena().tensor({std::min(kChunk, count)}).f32();
}

}  // namespace

bool stores_bf16(const Tape& tape) {
  const Tape::Options& options = tape.options();
  return options.record && !options.keep && options.precision == kernels::Precision::bf16 &&
         tape.probe == nullptr;
}

Var make_bf16(Tape& tape, Shape shape, bool needs_gradient) {
  Var variable = tape.input(tape.arena().tensor(shape, DType::bf16), needs_gradient);
  variable->owns_value = !tape.in_segment();
  return variable;
}

float* widened(Tape& tape, const Tensor& value) {
  if (value.dtype() == DType::f32) return value.f32();
  float* wide = tape.arena().tensor(value.shape()).f32();
  kernels::widen_bf16(tape.pool(), bf16_data(value), wide, value.elements());
  return wide;
}

void store_rounded(Tape& tape, const float* values, const Tensor& value) {
  kernels::round_to_bf16(tape.pool(), values, bf16_data(value), value.elements());
}

void activate_backward_stored(Tape& tape, kernels::Activation activation, const std::uint16_t* x, float* dy,
                              std::int64_t count) {
  const TemporaryValues temporary(tape);
  float* wide = buffer(tape, count);
  in_chunks(count, [&](std::int64_t begin, std::int64_t part) {
    kernels::widen_bf16(tape.pool(), x + begin, wide, part);
    kernels::activate_backward(tape.pool(), activation, wide, dy + begin, dy + begin, part);
  });
}

void multiply_stored(Tape& tape, const Tensor& a, const Tensor& b, const Tensor& y) {
  const TemporaryValues temporary(tape);
  const std::int64_t count = y.elements();
  float *x = buffer(tape, count), *factor = buffer(tape, count);
  in_chunks(count, [&](std::int64_t begin, std::int64_t part) {
    kernels::widen_bf16(tape.pool(), bf16_data(a) + begin, x, part);
    kernels::widen_bf16(tape.pool(), bf16_data(b) + begin, factor, part);
    kernels::multiply(tape.pool(), x, factor, x, part);
    kernels::round_to_bf16(tape.pool(), x, bf16_data(y) + begin, part);
  });
}

void multiply_stored(Tape& tape, const float* x, const Tensor& b, const Tape::Gradient& to) {
  const TemporaryValues temporary(tape);
  const std::int64_t count = b.elements();
  float* factor = buffer(tape, count);
  in_chunks(count, [&](std::int64_t begin, std::int64_t part) {
    kernels::widen_bf16(tape.pool(), bf16_data(b) + begin, factor, part);
    if (to.accumulate)
      kernels::multiply_add(tape.pool(), x + begin, factor, to.data + begin, part);
    else
      kernels::multiply(tape.pool(), x + begin, factor, to.data + begin, part);
  });
}

}  // namespace regard::ops
