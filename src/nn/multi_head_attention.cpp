#include "nn/multi_head_attention.h"

#include "nn/head_parameters.h"
#include "ops/bf16_store.h"
#include "ops/replacing_probe.h"
#include "ops/rotary.h"
#include "ops/scale.h"
#include "ops/view.h"
#include "regard/error.h"

namespace regard::nn {

AttentionConfig AttentionConfig::completed() const {
  AttentionConfig config = *this;
  if (config.memory_hidden == 0) config.memory_hidden = config.hidden;
  if (config.head_dim == 0) config.head_dim = config.hidden / config.heads;
  static_cast<kernels::AttentionSpec&>(config) = config.resolved();
  return config;
}

MultiHeadAttention::MultiHeadAttention(const std::string& prefix, const std::string& point,
                                       const AttentionConfig& given)
    : config_(given.completed()), point_(point), dropout_place_(place_of(point + ".dropout")) {
  const AttentionConfig& c = config_;
  const std::int64_t query = c.heads * c.head_dim, key = c.kv_heads * c.head_dim,
                     value = c.kv_heads * c.value_dim;
  const LinearPart query_part{prefix + c.query, query, c.query_bias, c.initial};
  const LinearPart key_part{prefix + c.key, key, c.key_bias, c.initial};
  const LinearPart value_part{prefix + c.value, value, c.value_bias, c.initial};
  const LinearPart joint_part{prefix + c.query, query + key + value, c.query_bias, c.initial};
  if (c.cross) {
    query_ = std::make_unique<Linear>(c.hidden, std::vector{query_part}, c.transposed);
    const LinearPart key_value_part{prefix + c.key, key + value, c.key_bias, c.initial};
    key_value_ = c.joint
                     ? std::make_unique<Linear>(c.memory_hidden, std::vector{key_value_part}, c.transposed)
                     : std::make_unique<Linear>(c.memory_hidden, std::vector{key_part, value_part});
  } else {
    query_ = std::make_unique<Linear>(
        c.hidden, c.joint ? std::vector{joint_part} : std::vector{query_part, key_part, value_part},
        c.transposed);
  }
  if (!c.query_norm.empty()) {
    query_norm_ = std::make_unique<Norm>(prefix + c.query_norm, c.head_dim, c.head_norm);
    key_norm_ = std::make_unique<Norm>(prefix + c.key_norm, c.head_dim, c.head_norm);
  }
  output_ = std::make_unique<Linear>(
      c.heads * c.value_dim,
      std::vector{LinearPart{prefix + c.output, c.hidden, c.output_bias, c.output_initial}}, c.transposed);
}

void MultiHeadAttention::collect(std::vector<Parameter*>& parameters) {
  query_->collect(parameters);
  if (key_value_) key_value_->collect(parameters);
  if (query_norm_) query_norm_->collect(parameters), key_norm_->collect(parameters);
  output_->collect(parameters);
}

void MultiHeadAttention::prepare_for_inference(const Preparation& how) {
  query_->prepare_for_inference(how);
  if (key_value_) key_value_->prepare_for_inference(how);
  output_->prepare_for_inference(how);
}

namespace {

// Return the outputs of all heads if the probe provides them, so that attention is not computed; else null.
Var known_context(Tape& tape, const std::string& point) {
  ReplacingProbe* replacing = replacing_probe(tape);
  return replacing == nullptr ? nullptr : replacing->replace(tape, point + ".context.skip", nullptr);
}

}  // namespace

Var MultiHeadAttention::forward(Tape& tape, Var x, const AttentionInput& input, const BranchEnd& end) const {
  if (input.cache != nullptr && tape.recording())
    throw usage_error("a pass with a cache cannot record gradients").remedy("Train without a cache");
  x = show(tape, point_, "input", x);
  show_parameters(tape, point_, config_, {query_.get(), key_value_.get(), output_.get()});
  Var context = input.cache == nullptr ? known_context(tape, point_) : nullptr;
  if (context == nullptr)
    context = config_.cross ? attend_cross(tape, x, input) : attend_self(tape, x, input);
  context = scaled_by_probe(tape, point_, config_.heads, context);
  context = show(tape, point_, "context", context);
  BranchEnd named = end;
  named.point = point_;
  return end_branch(tape, *output_, context, named);
}

// Return true if query, key and value are stored as bf16. Low-rank updates and head norms require f32.
bool MultiHeadAttention::stores_projections(const Tape& tape) const {
  return ops::stores_bf16(tape) && !query_norm_ && query_->reads_bf16() &&
         (!key_value_ || key_value_->reads_bf16());
}

ops::AttentionOptions MultiHeadAttention::options_for(const Tape& tape, const AttentionInput& input) const {
  const kernels::AttentionSpec& spec = config_;
  const kernels::AttentionMask& mask = input;
  const ops::AttentionBias& bias = input;
  ops::AttentionOptions options;
  static_cast<kernels::AttentionSpec&>(options) = spec;
  static_cast<kernels::AttentionMask&>(options) = mask;
  static_cast<ops::AttentionBias&>(options) = bias;
  options.dropout_place = dropout_place_, options.point = point_;
  options.store_bf16 = ops::stores_bf16(tape) && output_->reads_bf16();
  options.precision = precision();
  return options;
}

Var MultiHeadAttention::normed_heads(Tape& tape, const Norm& norm, ops::Columns x, std::int64_t heads) const {
  const std::int64_t tokens = x.variable->value.rows(), width = heads * config_.head_dim;
  Var apart = ops::columns(tape, x.variable, x.column, width);
  Var normed = norm.forward(tape, ops::reshape(tape, apart, {tokens * heads, config_.head_dim}));
  return ops::reshape(tape, normed, {tokens, width});
}

MultiHeadAttention::Projected MultiHeadAttention::project(Tape& tape, Var x,
                                                          const AttentionInput& input) const {
  const std::int64_t query = config_.heads * config_.head_dim, key = config_.kv_heads * config_.head_dim;
  // [tokens, query | key | value]
  Var joint = query_->forward(tape, x, {.store_bf16 = stores_projections(tape)});
  Projected projected{{joint, 0}, {joint, query}, {joint, query + key}};
  if (query_norm_) {
    projected.query = {normed_heads(tape, *query_norm_, projected.query, config_.heads), 0};
    projected.key = {normed_heads(tape, *key_norm_, projected.key, config_.kv_heads), 0};
  }
  if (input.rotary == nullptr) return projected;
  const std::span<const std::int32_t> positions = input.shape->positions;
  const ops::RotaryTable& table = input.rotary->table(positions);
  if (query_norm_) {
    ops::rotary(tape, projected.query.variable, {0, config_.heads, config_.head_dim}, table, positions);
    ops::rotary(tape, projected.key.variable, {0, config_.kv_heads, config_.head_dim}, table, positions);
  } else {
    // Query and key columns are adjacent and have the same head size, so one call rotates both.
    ops::rotary(tape, joint, {0, config_.heads + config_.kv_heads, config_.head_dim}, table, positions);
  }
  return projected;
}

Var MultiHeadAttention::attend_self(Tape& tape, Var x, const AttentionInput& input) const {
  const Projected projected = project(tape, x, input);
  if (input.cache != nullptr) {
    append(tape, projected, input);
    return attend_cache(tape, projected.query, input);
  }
  return ops::attention(tape, projected.query, projected.key, projected.value, *input.shape, *input.shape,
                        options_for(tape, input));
}

Var MultiHeadAttention::attend_cross(Tape& tape, Var x, const AttentionInput& input) const {
  const Linear::Options stored{.store_bf16 = stores_projections(tape)};
  Var query = query_->forward(tape, x, stored);
  if (input.cache != nullptr) {
    cache_memory(tape, input);
    return attend_cache(tape, {query, 0}, input);
  }
  if (input.memory == nullptr)
    throw usage_error(point_ + ": cross-attention requires the encoder's output, which is missing")
        .remedy("Encode the source first");
  Var key_value = key_value_->forward(tape, input.memory->hidden, stored);
  return ops::attention(tape, {query, 0}, {key_value, 0}, {key_value, config_.kv_heads * config_.head_dim},
                        *input.shape, input.memory->shape, options_for(tape, input));
}

// Append the keys and values of the new tokens to the cache slots of their sequences.
void MultiHeadAttention::append(Tape& tape, const Projected& projected, const AttentionInput& input) const {
  const Tensor &keys = projected.key.variable->value, &values = projected.value.variable->value;
  Cache& cache = *input.cache;
  tape.pool().parallel_for(input.shape->sequences(), [&](std::int64_t s, int) {
    const auto at = static_cast<std::size_t>(s);
    const std::int64_t begin = input.shape->offsets[at], count = input.shape->offsets[at + 1] - begin;
    cache.append(input.layer, cache.slots()[at],
                 {keys.row(begin) + projected.key.column, values.row(begin) + projected.value.column,
                  keys.row_stride(), values.row_stride(), count});
  });
}

// Compute this layer's keys and values for cross-attention from the encoder's output (input.memory). Store
// them in the cache slots that do not have them yet.
void MultiHeadAttention::cache_memory(Tape& tape, const AttentionInput& input) const {
  if (input.memory == nullptr) return;
  Cache& cache = *input.cache;
  const std::int64_t key = config_.kv_heads * config_.head_dim;
  Var projected = key_value_->forward(tape, input.memory->hidden);
  std::size_t source = 0;
  for (const std::int32_t slot : cache.slots()) {
    if (!cache.cross_is_new(slot)) continue;
    const std::int64_t begin = input.memory->shape.offsets[source];
    const float* row = projected->value.row(begin);
    const std::int64_t stride = projected->value.columns();
    cache.set_cross(input.layer, slot, {row, row + key, stride, stride, cache.cross_length(slot)});
    ++source;
  }
}

Var MultiHeadAttention::attend_cache(Tape& tape, ops::Columns query, const AttentionInput& input) const {
  Cache& cache = *input.cache;
  if (cache.shape().kv_heads != config_.kv_heads)
    throw usage_error("the cache and an attention layer differ in the number of key/value heads")
        .found(std::to_string(cache.shape().kv_heads) + " in the cache")
        .expected(std::to_string(config_.kv_heads) + ", as in the layer");
  const std::span<ops::CachedKeys> keys =
      tape.arena().array<ops::CachedKeys>(static_cast<std::size_t>(input.shape->sequences()));
  for (std::size_t s = 0; s < keys.size(); ++s) {
    const std::int64_t slot = cache.slots()[s];
    const std::int64_t count = input.shape->offsets[s + 1] - input.shape->offsets[s];
    keys[s] = config_.cross ? cache.cross_keys(input.layer, slot)
                            : cache.keys(input.layer, slot, cache.length(slot) + count);
  }
  return ops::attention_cached(tape, query, keys, *input.shape, options_for(tape, input));
}

Var scaled_by_probe(Tape& tape, std::string_view point, std::int64_t heads, Var context) {
  if (tape.probe == nullptr) return context;
  const std::span<float> factors = tape.arena().array<float>(static_cast<std::size_t>(heads));
  bool any = false;
  for (std::size_t h = 0; h < factors.size(); ++h) {
    factors[h] = tape.probe->head_scale(point, static_cast<std::int64_t>(h));
    any = any || factors[h] != 1.0f;
  }
  return any ? ops::scale_heads(tape, context, factors) : context;
}

}  // namespace regard::nn
