#include "nn/feed_forward.h"

#include "nn/collect.h"
#include "ops/bf16_store.h"
#include "ops/feed_forward.h"
#include "ops/multiply.h"

namespace regard::nn {

FeedForward::FeedForward(const std::string& prefix, const std::string& point, const FeedForwardConfig& config)
    : config_(config), point_(point), dropout_place_(place_of(point + ".activation_dropout")) {
  const auto layer = [&](const std::string& name, std::int64_t in, std::int64_t out, Initialisation initial) {
    return std::make_unique<Linear>(in, std::vector{LinearPart{prefix + name, out, config.bias, initial}},
                                    config.transposed);
  };
  if (config.gated) gate_ = layer(config.gate, config.hidden, config.inner, config.initial);
  up_ = layer(config.up, config.hidden, config.inner, config.initial);
  down_ = layer(config.down, config.inner, config.hidden, config.output_initial);
}

bool FeedForward::reads_bf16() const {
  return up_->reads_bf16() && (!gate_ || gate_->reads_bf16());
}

// In bf16, a layer without a gate is computed as one operation, which stores fewer values for backward.
bool FeedForward::is_one_operation(const Tape& tape) const {
  return ops::stores_bf16(tape) && !gate_ && up_->reads_bf16() && down_->reads_bf16() &&
         config_.activation != kernels::Activation::none;
}

Var FeedForward::forward(Tape& tape, Var x, const BranchEnd& end) const {
  BranchEnd named = end;
  named.point = point_;
  if (is_one_operation(tape)) {
    const Linear::Variables up = up_->variables(tape), down = down_->variables(tape);
    const ops::FeedForwardWeights weights{up.weight, up.bias,       down.weight,
                                          down.bias, up.transposed, config_.activation};
    const ops::InnerDropout dropout{*end.shape, {config_.dropout, dropout_place_}};
    return end_branch_of(
        tape, named, [&](Var residual) { return ops::feed_forward(tape, x, weights, dropout, residual); });
  }
  Linear::Options plain, activated;
  activated.activation = config_.activation;
  // Set store_bf16 only if no layer has low-rank updates: a layer with updates reads its input as f32.
  plain.store_bf16 = activated.store_bf16 = ops::stores_bf16(tape) && reads_bf16() && down_->reads_bf16();
  Var inner = gate_ ? ops::multiply(tape, gate_->forward(tape, x, activated), up_->forward(tape, x, plain))
                    : up_->forward(tape, x, activated);
  inner = show(tape, point_, "inner", inner);
  inner = ops::dropout(tape, inner, *end.shape, {config_.dropout, dropout_place_});
  return end_branch(tape, *down_, inner, named);
}

void FeedForward::collect(std::vector<Parameter*>& parameters) {
  collect_parts(parameters, gate_, up_, down_);
}

void FeedForward::prepare_for_inference(const Preparation& how) {
  if (gate_) gate_->prepare_for_inference(how);
  up_->prepare_for_inference(how);
  down_->prepare_for_inference(how);
}

}  // namespace regard::nn
