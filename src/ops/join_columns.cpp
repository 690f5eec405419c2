#include "ops/join_columns.h"

#include <algorithm>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct JoinColumnsNode : Tape::Node {
  std::span<Var> parts;
  static void backward(JoinColumnsNode& node, Tape& tape) {
    std::int64_t column = 0;
    for (Var part : node.parts) {
      const std::int64_t width = part->value.columns();
      if (float* const to = tape.accumulated(part))
        for (std::int64_t r = 0; r < node.out->value.rows(); ++r) {
          const float* const from = node.out->gradient.row(r) + column;
          for (std::int64_t c = 0; c < width; ++c) to[r * width + c] += from[c];
        }
      column += width;
    }
  }
};

}  // namespace

Var join_columns(Tape& tape, std::span<const Var> parts) {
  if (parts.empty()) throw usage_error("join columns: expected at least one part, found none");
  const std::int64_t rows = parts[0]->value.rows();
  std::int64_t features = 0;
  bool wanted = false;
  for (Var part : parts) {
    require_matrix("join columns", "a part", part);
    if (part->value.rows() != rows)
      throw shape_error("join columns", "two parts differ in the number of rows",
                        {{"first", parts[0]}, {"another", part}})
          .expected("equal numbers of rows");
    features += part->value.columns();
    wanted = wanted || tape.wanted({part});
  }
  Var out = tape.make({rows, features}, wanted);
  std::int64_t column = 0;
  for (Var part : parts) {
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(part->value.row(r), part->value.columns(), out->value.row(r) + column);
    column += part->value.columns();
  }
  if (wanted) tape.record(JoinColumnsNode{{.out = out}, tape.arena().copied(parts)});
  return out;
}

}  // namespace regard::ops
