#include "ops/rotary.h"

#include "base/counted.h"
#include "kernels/rows.h"
#include "ops/bf16_store.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

void turn(ThreadPool& pool, float* x, std::int64_t stride, const RotaryHeads& which, const RotaryTable& table,
          std::span<const std::int32_t> positions, bool inverse) {
  kernels::rotary(pool, x + which.column, stride, static_cast<std::int64_t>(positions.size()), which.heads,
                  which.head_dim, 2 * table.cosine.columns(), positions.data(), table.cosine.f32(),
                  table.sine.f32(), table.interleaved, inverse);
}

struct RotaryNode : Tape::Node {
  Var x;
  RotaryHeads which;
  const RotaryTable* table;
  std::span<const std::int32_t> positions;
  static void backward(RotaryNode& node, Tape& tape) {
    if (!node.x->gradient_started) return;
    turn(tape.pool(), node.x->gradient.f32(), node.x->value.columns(), node.which, *node.table,
         node.positions, true);
  }
};

}  // namespace

void rotary(Tape& tape, Var x, const RotaryHeads& which, const RotaryTable& table,
            std::span<const std::int32_t> positions) {
  if (!reads_bf16(tape, x)) require_matrix("rotary", "x", x);
  if (static_cast<std::int64_t>(positions.size()) != x->value.rows())
    throw usage_error("rotary: the number of positions differs from the number of rows")
        .found(counted(positions.size(), "position"))
        .expected(std::to_string(x->value.rows()) + " positions, one for each row of x");
  if (which.column < 0 || which.column + which.heads * which.head_dim > x->value.columns() ||
      2 * table.cosine.columns() > which.head_dim)
    throw shape_error("rotary", "x has too few features for the heads, or the table is wider than a head",
                      {{"x", x}})
        .expected("at least " + std::to_string(which.column + which.heads * which.head_dim) +
                  " features, and a table for at most " + std::to_string(which.head_dim) + " features");
  require_ids("rotary positions", positions, table.cosine.rows());
  if (is_bf16(x)) {
    const TemporaryValues temporary(tape);
    float* values = widened(tape, x->value);
    turn(tape.pool(), values, x->value.columns(), which, table, positions, false);
    store_rounded(tape, values, x->value);
  } else {
    turn(tape.pool(), x->value.f32(), x->value.row_stride(), which, table, positions, false);
  }
  if (tape.wanted({x})) {
    RotaryNode node;
    node.x = x, node.which = which, node.table = &table, node.positions = positions;
    tape.record(node);
  }
}

}  // namespace regard::ops
