#include "ops/edit.h"

#include <cstring>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct EditNode : Tape::Node {
  Var x;
  std::span<const Edit> edits;
  static void backward(EditNode& node, Tape& tape) {
    Var out = tape.consume(node.out);
    for (const Edit& edit : node.edits) {
      float* row = out->gradient.f32() + edit.row * node.out->value.columns();
      for (std::int64_t i = edit.begin; i < edit.end; ++i) row[i] *= edit.factor;
    }
    tape.pass_gradient(out, node.x);
  }
};

void apply(const Edit& edit, float* row) {
  for (std::int64_t i = edit.begin; i < edit.end; ++i) {
    const float kept = edit.factor == 0.0f ? 0.0f : edit.factor * row[i];
    row[i] = edit.offset == nullptr ? kept : kept + edit.offset[i - edit.begin];
  }
}

}  // namespace

Var edit(Tape& tape, Var x, std::span<const Edit> edits) {
  require_matrix("edit", "x", x);
  require_contiguous("edit", "x", x);
  for (const Edit& one : edits)
    if (one.row < 0 || one.row >= x->value.rows() || one.begin < 0 || one.begin > one.end ||
        one.end > x->value.columns())
      throw shape_error("edit",
                        "row " + std::to_string(one.row) + ", features [" + std::to_string(one.begin) + ", " +
                            std::to_string(one.end) + ") of an edit are outside of x",
                        {{"x", x}})
          .expected("a row below " + std::to_string(x->value.rows()) + ", features in [0, " +
                    std::to_string(x->value.columns()) + ")");
  const bool wanted = tape.wanted({x});
  Var out = tape.make(x->value.shape(), wanted);
  std::memcpy(out->value.f32(), x->value.f32(), x->value.bytes());
  for (const Edit& one : edits) apply(one, out->value.f32() + one.row * x->value.columns());
  if (wanted) tape.record(EditNode{{.out = out}, x, tape.arena().copied(edits)});
  return out;
}

}  // namespace regard::ops
