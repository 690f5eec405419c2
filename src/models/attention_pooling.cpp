#include "models/attention_pooling.h"

#include "nn/collect.h"
#include "nn/multi_head_attention.h"
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/replacing_probe.h"

namespace regard::models {
namespace {

constexpr std::string_view kAttention = "decoder.0.cross", kFeedForward = "decoder.0.feed_forward";

nn::FeedForwardConfig feed_forward_of(const AttentionPoolingConfig& config) {
  nn::FeedForwardConfig feed_forward;
  feed_forward.hidden = config.hidden, feed_forward.inner = config.inner;
  feed_forward.activation = config.activation;
  feed_forward.initial = feed_forward.output_initial = config.initial;
  feed_forward.up = "mlp.fc1", feed_forward.down = "mlp.fc2";
  return feed_forward;
}

// Return a batch shape with one token for each sequence of `shape`.
Ragged one_each(Tape& tape, const Ragged& shape) {
  const auto count = static_cast<std::size_t>(shape.sequences());
  const auto offsets = tape.arena().array<std::int32_t>(count + 1),
             positions = tape.arena().array<std::int32_t>(count);
  const auto indices = tape.arena().array<std::uint64_t>(count);
  offsets[0] = 0;
  for (std::size_t s = 0; s < count; ++s) {
    offsets[s + 1] = static_cast<std::int32_t>(s) + 1;
    positions[s] = 0;
    const auto first = static_cast<std::size_t>(shape.offsets[s]);
    indices[s] = first < shape.sequence_index.size() ? shape.sequence_index[first] : s;
  }
  return {offsets, positions, indices};
}

}  // namespace

AttentionPooling::AttentionPooling(const AttentionPoolingConfig& config) : config_(config) {
  const std::string& prefix = config.prefix;
  const std::int64_t hidden = config.hidden;
  probe_ = std::make_unique<Parameter>();
  probe_->name = prefix + "probe";
  probe_->variable.value = declared({1, hidden});
  probe_->stored_shape = {1, 1, hidden};
  probe_->initial = config.initial;
  const std::string joint = prefix + "attention.in_proj";
  joint_ = std::make_unique<nn::Linear>(hidden,
                                        std::vector{nn::LinearPart{joint, 3 * hidden, true, config.initial}});
  std::vector<Parameter*> weights;
  joint_->collect(weights);
  weights[0]->name = joint + "_weight", weights[1]->name = joint + "_bias";
  output_ = std::make_unique<nn::Linear>(
      hidden, std::vector{nn::LinearPart{prefix + "attention.out_proj", hidden, true, config.initial}});
  norm_ = std::make_unique<nn::Norm>(prefix + "layernorm", hidden, config.norm);
  feed_forward_ =
      std::make_unique<nn::FeedForward>(prefix, std::string(kFeedForward), feed_forward_of(config));
}

Var AttentionPooling::forward(Tape& tape, Var hidden, const Ragged& shape) const {
  const Ragged queries = one_each(tape, shape);
  if (ReplacingProbe* probe = replacing_probe(tape)) probe->begin("decoder", queries);
  // The learned query (probe) is the same for every sequence, so it is projected only once.
  Var probe = joint_->forward(tape, &probe_->variable);  // [1, 3 · hidden]: query, key and value
  Var query = ops::select_rows(tape, probe, queries.positions);
  Var states = joint_->forward(tape, hidden);  // [tokens, 3 · hidden]: query, key and value
  ops::AttentionOptions options;
  options.heads = options.kv_heads = config_.heads;
  options.head_dim = options.value_dim = config_.hidden / config_.heads;
  options.point = kAttention;
  Var context = ops::attention(tape, {query, 0}, {states, config_.hidden}, {states, 2 * config_.hidden},
                               queries, shape, options);
  context = nn::scaled_by_probe(tape, kAttention, config_.heads, context);
  context = nn::show(tape, kAttention, "context", context);
  Var attended = nn::show(tape, kAttention, "output", output_->forward(tape, context));
  nn::BranchEnd end;
  end.residual = attended, end.shape = &queries;
  return feed_forward_->forward(tape, norm_->forward(tape, attended), end);
}

void AttentionPooling::collect(std::vector<Parameter*>& parameters) const {
  parameters.push_back(probe_.get());
  nn::collect_parts(parameters, joint_, output_, norm_, feed_forward_);
}

void AttentionPooling::prepare_for_inference(const nn::Preparation& how) const {
  joint_->prepare_for_inference(how);
  output_->prepare_for_inference(how);
  feed_forward_->prepare_for_inference(how);
}

}  // namespace regard::models
