#include "ops/embedding.h"

#include <algorithm>

#include "kernels/int8.h"
#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct EmbeddingNode : Tape::Node {
  Var table;
  std::span<const std::int32_t> ids;
  float factor;
  std::int32_t padding;
  static void backward(EmbeddingNode& node, Tape& tape) {
    const Tensor& table = node.table->value;
    Var out = node.padding >= 0 ? tape.consume(node.out) : node.out;
    for (std::size_t t = 0; node.padding >= 0 && t < node.ids.size(); ++t)
      if (node.ids[t] == node.padding)
        std::fill_n(out->gradient.row(static_cast<std::int64_t>(t)), table.columns(), 0.0f);
    if (float* gradient = tape.accumulated(node.table))
      kernels::embedding_backward(tape.pool(), out->gradient.f32(), node.ids.data(),
                                  static_cast<std::int64_t>(node.ids.size()), table.columns(), table.rows(),
                                  node.factor, gradient);
  }
};

}  // namespace

Var embedding(Tape& tape, Var table, std::span<const std::int32_t> ids, float factor, std::int32_t padding) {
  require_matrix("embedding", "table", table);
  require_contiguous("embedding", "table", table);
  require_ids("embedding", ids, table->value.rows());
  const auto tokens = static_cast<std::int64_t>(ids.size());
  const bool wanted = tape.wanted({table});
  Var out = tape.make({tokens, table->value.columns()}, wanted);
  kernels::embedding(tape.pool(), table->value.f32(), ids.data(), tokens, table->value.columns(), factor,
                     out->value.f32());
  if (wanted) tape.record(EmbeddingNode{{.out = out}, table, ids, factor, padding});
  return out;
}

Var held_embedding(Tape& tape, const HeldTable& table, std::span<const std::int32_t> ids, float factor) {
  require_ids("embedding", ids, table.vocabulary);
  const std::int64_t tokens = std::ssize(ids), features = table.numbers.columns();
  Var out = tape.make({tokens, features}, false);
  float* y = out->value.f32();
  if (table.numbers.dtype() == DType::f32)
    kernels::embedding(tape.pool(), table.numbers.f32(), ids.data(), tokens, features, factor, y);
  else if (table.numbers.dtype() == DType::i8)
    kernels::dequantise_rows(tape.pool(), static_cast<const std::int8_t*>(table.numbers.data()),
                             table.scale.f32(), ids.data(), tokens, features, factor, y);
  else
    kernels::widen_rows(tape.pool(), static_cast<const std::uint16_t*>(table.numbers.data()),
                        table.numbers.dtype() == DType::bf16, ids.data(), tokens, features, factor, y);
  return out;
}

Var packed_embedding(Tape& tape, const kernels::PackedMatrix& table, std::span<const std::int32_t> ids,
                     float factor) {
  require_ids("embedding", ids, table.n());
  Var out = tape.make({std::ssize(ids), table.k()}, false);
  kernels::unpack_columns(tape.pool(), table, ids.data(), std::ssize(ids), factor, out->value.f32());
  return out;
}

}  // namespace regard::ops
