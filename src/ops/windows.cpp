#include "ops/windows.h"

#include <algorithm>

#include "ops/check.h"

namespace regard::ops {
namespace {

// Call body(t, k, from) for each token t of sequence s and each position k of its window. `from` is the token
// at that position; positions without a token are skipped.
template <class Body>
void each_place(const Ragged& shape, std::int64_t s, std::int64_t width, std::int64_t left, Body&& body) {
  const auto at = static_cast<std::size_t>(s);
  const std::int64_t begin = shape.offsets[at], end = shape.offsets[at + 1];
  for (std::int64_t t = begin; t < end; ++t)
    for (std::int64_t k = 0; k < width; ++k)
      if (const std::int64_t from = t - left + k; from >= begin && from < end) body(t, k, from);
}

struct WindowsNode : Tape::Node {
  Var x;
  Ragged shape;
  std::int64_t width, left;
  static void backward(WindowsNode& node, Tape& tape) {
    float* const dx = tape.accumulated(node.x);
    if (dx == nullptr) return;
    const std::int64_t features = node.x->value.columns(), width = node.width;
    tape.pool().parallel_for(node.shape.sequences(), [&](std::int64_t s, int) {
      each_place(node.shape, s, width, node.left, [&](std::int64_t t, std::int64_t k, std::int64_t from) {
        const float* const dy = node.out->gradient.row(t) + k;
        float* const to = dx + from * features;
        for (std::int64_t f = 0; f < features; ++f) to[f] += dy[f * width];
      });
    });
  }
};

}  // namespace

Var windows(Tape& tape, Var x, const Ragged& shape, std::int64_t width, std::int64_t left) {
  require_matrix("windows", "x", x);
  require_ragged("windows", shape, x->value.rows());
  if (width < 1 || left < 0 || left >= width)
    throw usage_error("windows: the window of a token does not contain the token")
        .found("width " + std::to_string(width) + ", " + std::to_string(left) + " tokens before")
        .expected("width at least 1, and 0 to width - 1 tokens before");
  const std::int64_t features = x->value.columns();
  const bool wanted = tape.wanted({x});
  Var out = tape.make({x->value.rows(), features * width}, wanted);
  tape.pool().parallel_for(shape.sequences(), [&](std::int64_t s, int) {
    const auto at = static_cast<std::size_t>(s);
    for (std::int64_t t = shape.offsets[at]; t < shape.offsets[at + 1]; ++t)
      std::fill_n(out->value.row(t), features * width, 0.0f);
    each_place(shape, s, width, left, [&](std::int64_t t, std::int64_t k, std::int64_t from) {
      float* const y = out->value.row(t) + k;
      const float* const row = x->value.row(from);
      for (std::int64_t f = 0; f < features; ++f) y[f * width] = row[f];
    });
  });
  if (wanted) tape.record(WindowsNode{{.out = out}, x, shape, width, left});
  return out;
}

}  // namespace regard::ops
