#include "ops/pool_tokens.h"

#include <algorithm>
#include <cmath>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct MeanNode : Tape::Node {
  Var x;
  std::span<const std::int32_t> offsets;
  static void backward(MeanNode& node, Tape& tape) {
    const Tape::Gradient dx = tape.gradient(node.x);
    if (dx.data == nullptr) return;
    const std::int64_t features = node.x->value.columns();
    tape.pool().parallel_for(node.out->value.rows(), [&](std::int64_t s, int) {
      const auto at = static_cast<std::size_t>(s);
      const std::int32_t begin = node.offsets[at], end = node.offsets[at + 1];
      const float* const dy = node.out->gradient.row(s);
      const float share = 1.0f / static_cast<float>(end - begin);
      for (std::int32_t t = begin; t < end; ++t)
        for (std::int64_t f = 0; f < features; ++f) {
          float& to = dx.data[t * features + f];
          to = dx.accumulate ? to + share * dy[f] : share * dy[f];
        }
    });
  }
};

struct MaxNode : Tape::Node {
  Var x;
  std::span<std::int32_t> token;  // [sequences × features]: token with the maximum; −1 if there is none
  static void backward(MaxNode& node, Tape& tape) {
    float* const dx = tape.accumulated(node.x);
    if (dx == nullptr) return;
    const std::int64_t features = node.x->value.columns();
    const float* const dy = node.out->gradient.f32();
    for (std::size_t i = 0; i < node.token.size(); ++i)
      if (node.token[i] >= 0) dx[node.token[i] * features + static_cast<std::int64_t>(i) % features] += dy[i];
  }
};

void check(const char* name, Var x, const Ragged& shape) {
  require_matrix(name, "x", x);
  require_contiguous(name, "x", x);
  require_ragged(name, shape, x->value.rows());
}

}  // namespace

Var mean_over_time(Tape& tape, Var x, const Ragged& shape) {
  check("mean over time", x, shape);
  const std::int64_t features = x->value.columns();
  const bool wanted = tape.wanted({x});
  Var out = tape.make({shape.sequences(), features}, wanted);
  tape.pool().parallel_for(shape.sequences(), [&](std::int64_t s, int) {
    const auto at = static_cast<std::size_t>(s);
    float* const y = out->value.row(s);
    std::fill_n(y, features, 0.0f);
    for (std::int32_t t = shape.offsets[at]; t < shape.offsets[at + 1]; ++t)
      for (std::int64_t f = 0; f < features; ++f) y[f] += x->value.row(t)[f];
    const auto count = static_cast<float>(shape.offsets[at + 1] - shape.offsets[at]);
    for (std::int64_t f = 0; count > 0 && f < features; ++f) y[f] /= count;
  });
  if (wanted) tape.record(MeanNode{{.out = out}, x, shape.offsets});
  return out;
}

Var max_over_time(Tape& tape, Var x, const Ragged& shape) {
  check("max over time", x, shape);
  const std::int64_t features = x->value.columns();
  const bool wanted = tape.wanted({x});
  Var out = tape.make({shape.sequences(), features}, wanted);
  const auto token = tape.arena().array<std::int32_t>(static_cast<std::size_t>(out->value.elements()));
  tape.pool().parallel_for(shape.sequences(), [&](std::int64_t s, int) {
    const auto at = static_cast<std::size_t>(s);
    float* const y = out->value.row(s);
    std::int32_t* const from = token.data() + s * features;
    std::fill_n(y, features, 0.0f);
    std::fill_n(from, features, -1);
    for (std::int32_t t = shape.offsets[at]; t < shape.offsets[at + 1]; ++t)
      for (std::int64_t f = 0; f < features; ++f)
        if (const float value = x->value.row(t)[f];
            from[f] < 0 || value > y[f] || (std::isnan(value) && !std::isnan(y[f])))
          y[f] = value, from[f] = t;
  });
  if (wanted) tape.record(MaxNode{{.out = out}, x, token});
  return out;
}

}  // namespace regard::ops
