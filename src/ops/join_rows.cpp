#include "ops/join_rows.h"

#include <algorithm>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct JoinRowsNode : Tape::Node {
  Var first, second;
  std::span<const std::int32_t> rows;
  static void backward(JoinRowsNode& node, Tape& tape) {
    float* const first = tape.accumulated(node.first);
    float* const second = tape.accumulated(node.second);
    const std::int64_t features = node.out->value.columns(), split = node.first->value.rows();
    for (std::size_t r = 0; r < node.rows.size(); ++r) {
      const std::int64_t row = node.rows[r];
      float* const table = row < split ? first : second;
      if (table == nullptr) continue;
      float* const to = table + (row < split ? row : row - split) * features;
      const float* const from = node.out->gradient.row(static_cast<std::int64_t>(r));
      for (std::int64_t f = 0; f < features; ++f) to[f] += from[f];
    }
  }
};

}  // namespace

Var join_rows(Tape& tape, Var first, Var second, std::span<const std::int32_t> rows) {
  require_matrix("join rows", "first", first);
  require_matrix("join rows", "second", second);
  require_equal_columns("join rows", {"first", first}, {"second", second});
  const std::int64_t split = first->value.rows();
  require_ids("join rows", rows, split + second->value.rows());
  const bool wanted = tape.wanted({first, second});
  Var out = tape.make({std::ssize(rows), first->value.columns()}, wanted);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::int64_t row = rows[r];
    const float* const from = row < split ? first->value.row(row) : second->value.row(row - split);
    std::copy_n(from, first->value.columns(), out->value.row(static_cast<std::int64_t>(r)));
  }
  if (wanted) tape.record(JoinRowsNode{{.out = out}, first, second, rows});
  return out;
}

}  // namespace regard::ops
