#include "ops/heads.h"

#include <cstring>

#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct HeadSizes {
  std::int64_t heads, tokens, size;
};

void copy_heads(ThreadPool& pool, const HeadSizes& sizes, const float* x, float* y, bool split) {
  pool.parallel_for(sizes.tokens, [&](std::int64_t token, int) {
    for (std::int64_t h = 0; h < sizes.heads; ++h) {
      const std::int64_t joint = (token * sizes.heads + h) * sizes.size;
      const std::int64_t apart = (h * sizes.tokens + token) * sizes.size;
      std::memcpy(y + (split ? apart : joint), x + (split ? joint : apart),
                  static_cast<std::size_t>(sizes.size) * sizeof(float));
    }
  });
}

struct HeadsNode : Tape::Node {
  Var x;
  HeadSizes sizes;
  bool split;
  static void backward(HeadsNode& node, Tape& tape) {
    if (!node.out->gradient_started) return;
    const float* dy = node.out->gradient.f32();
    const Tape::Gradient dx = tape.gradient(node.x);
    if (dx.data == nullptr) return;
    float* back = dx.accumulate ? tape.take(node.x->value.elements()) : dx.data;
    copy_heads(tape.pool(), node.sizes, dy, back, !node.split);
    if (!dx.accumulate) return;
    kernels::axpy(tape.pool(), 1.0f, back, dx.data, node.x->value.elements());
    tape.recycle(back, node.x->value.elements());
  }
};

Var run(Tape& tape, Var x, Shape shape, const HeadSizes& sizes, bool split) {
  const bool wanted = tape.wanted({x});
  Var out = tape.make(shape, wanted);
  copy_heads(tape.pool(), sizes, x->value.f32(), out->value.f32(), split);
  if (wanted) {
    HeadsNode node;
    node.x = x, node.out = out, node.sizes = sizes, node.split = split;
    tape.record(node);
  }
  return out;
}

}  // namespace

Var split_heads(Tape& tape, Var x, std::int64_t heads) {
  require_matrix("split_heads", "x", x);
  require_contiguous("split_heads", "x", x);
  if (heads < 1 || x->value.columns() % heads != 0)
    throw shape_error("split_heads", std::to_string(heads) + " heads do not divide the number of features",
                      {{"x", x}});
  const HeadSizes sizes{heads, x->value.rows(), x->value.columns() / heads};
  return run(tape, x, {sizes.heads, sizes.tokens, sizes.size}, sizes, true);
}

Var merge_heads(Tape& tape, Var x) {
  require_contiguous("merge_heads", "x", x);
  const Shape& shape = x->value.shape();
  if (shape.rank() != 3) throw shape_error("merge_heads", "x must be [heads, tokens, size]", {{"x", x}});
  const HeadSizes sizes{shape[0], shape[1], shape[2]};
  return run(tape, x, {sizes.tokens, sizes.heads * sizes.size}, sizes, false);
}

}  // namespace regard::ops
