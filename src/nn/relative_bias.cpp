#include "nn/relative_bias.h"

#include <algorithm>

namespace regard::nn {

RelativeBias::RelativeBias(const RelativeBiasConfig& config)
    : buckets_(config.buckets), table_(std::make_unique<Parameter>()) {
  table_->name = config.name + ".weight";
  table_->variable.value = declared({config.buckets.count, config.heads});
  table_->initial = config.initial;
}

// Without a cache, query i is at the position of key i in every sequence, so all sequences share one bias.
void RelativeBias::prepare(Tape& tape, AttentionInput& input) const {
  const Ragged& shape = *input.shape;
  const bool cached = input.cache != nullptr;
  const std::int64_t groups = cached ? shape.sequences() : 1;
  const std::span<std::int64_t> first = tape.arena().array<std::int64_t>(static_cast<std::size_t>(groups));
  std::fill(first.begin(), first.end(), 0);
  std::int64_t queries = 0, keys = 0;
  for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s) {
    const std::int64_t count = shape.offsets[s + 1] - shape.offsets[s];
    if (cached) first[s] = input.cache->length(input.cache->slots()[s]);
    queries = std::max(queries, count);
    keys = std::max(keys, count + (cached ? first[s] : 0));
  }
  input.bias = ops::relative_bias(tape, &table_->variable, buckets_, first, queries, keys);
  input.bias_sequence_stride = cached ? table_->value().columns() * queries * keys : 0;
  input.bias_head_stride = queries * keys;
  input.bias_query_stride = keys;
}

}  // namespace regard::nn
