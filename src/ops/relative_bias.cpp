#include "ops/relative_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ops/check.h"

namespace regard::ops {

std::int64_t RelativeBuckets::of(std::int64_t distance) const {
  const std::int64_t side = bidirectional ? count / 2 : count;
  const std::int64_t base = bidirectional && distance > 0 ? side : 0;
  const std::int64_t far = bidirectional ? std::abs(distance) : std::max<std::int64_t>(-distance, 0);
  const std::int64_t exact = side / 2;
  if (far < exact) return base + far;
  const float steps =
      std::log(static_cast<float>(far) / static_cast<float>(exact)) /
      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact))) *
      static_cast<float>(side - exact);
  return base + std::min(exact + static_cast<std::int64_t>(steps), side - 1);
}

namespace {

// Call visit(bucket, element) for every (group, query, key). `element` is the index of the bias for head 0;
// the index for head h is element + h · queries · keys.
template <class Visitor>
void each_place(const RelativeBuckets& buckets, std::span<const std::int64_t> first, const Shape& shape,
                Visitor&& visit) {
  const std::int64_t heads = shape[1], queries = shape[2], keys = shape[3];
  for (std::size_t g = 0; g < first.size(); ++g)
    for (std::int64_t i = 0; i < queries; ++i)
      for (std::int64_t j = 0; j < keys; ++j)
        visit(buckets.of(j - first[g] - i), (static_cast<std::int64_t>(g) * heads * queries + i) * keys + j);
}

struct RelativeBiasNode : Tape::Node {
  Var table;
  RelativeBuckets buckets;
  std::span<const std::int64_t> first;
  static void backward(RelativeBiasNode& node, Tape& tape) {
    float* gradient = tape.accumulated(node.table);
    if (gradient == nullptr) return;
    const Shape& shape = node.out->value.shape();
    const std::int64_t heads = shape[1], plane = shape[2] * shape[3];
    const float* from = node.out->gradient.f32();
    each_place(node.buckets, node.first, shape, [&](std::int64_t bucket, std::int64_t element) {
      for (std::int64_t h = 0; h < heads; ++h) gradient[bucket * heads + h] += from[element + h * plane];
    });
  }
};

}  // namespace

Var relative_bias(Tape& tape, Var table, const RelativeBuckets& buckets, std::span<const std::int64_t> first,
                  std::int64_t queries, std::int64_t keys) {
  require_matrix("relative bias", "table", table);
  if (table->value.rows() != buckets.count)
    throw shape_error("relative bias", "the table has a wrong number of rows", {{"table", table}})
        .expected(std::to_string(buckets.count) + " rows, one for each bucket");
  const std::int64_t heads = table->value.columns();
  const bool wanted = tape.wanted({table});
  Var out = tape.make({std::ssize(first), heads, queries, keys}, wanted);
  float* to = out->value.f32();
  const float* from = table->value.f32();
  each_place(buckets, first, out->value.shape(), [&](std::int64_t bucket, std::int64_t element) {
    for (std::int64_t h = 0; h < heads; ++h) to[element + h * queries * keys] = from[bucket * heads + h];
  });
  if (wanted) tape.record(RelativeBiasNode{{.out = out}, table, buckets, first});
  return out;
}

}  // namespace regard::ops
