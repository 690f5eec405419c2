#include "nn/block.h"

#include "ops/bf16_store.h"

namespace regard::nn {

Block::Block(const std::string& prefix, const std::string& point, const BlockConfig& config) : point_(point) {
  self_norms_ = make_norms(prefix, config.self_norm, config, point + ".self");
  self_ = std::make_unique<MultiHeadAttention>(prefix, point + ".self", config.self);
  if (config.has_cross) {
    cross_norms_ = make_norms(prefix, config.cross_norm, config, point + ".cross");
    cross_ = std::make_unique<MultiHeadAttention>(prefix, point + ".cross", config.cross);
  }
  feed_forward_norms_ = make_norms(prefix, config.feed_forward_norm, config, point + ".feed_forward");
  feed_forward_ = std::make_unique<FeedForward>(prefix, point + ".feed_forward", config.feed_forward);
  if (config.adapter) {
    adapter_norms_ = make_norms(prefix, config.adapter_norm, config, point + ".adapter");
    adapter_norms_.dropout = 0.0f;
    adapter_ = std::make_unique<FeedForward>(prefix, point + ".adapter", *config.adapter);
  }
}

Block::Norms Block::make_norms(const std::string& prefix, const NormNames& names, const BlockConfig& config,
                               const std::string& branch) const {
  const auto make = [&](const std::string& name) {
    return name.empty() ? nullptr
                        : std::make_unique<Norm>(prefix + name, config.feed_forward.hidden, config.norm);
  };
  return {make(names.before), make(names.branch), make(names.after), config.dropout,
          place_of(branch + ".output_dropout")};
}

BranchEnd Block::end_of(const Norms& norms, Var residual, const Ragged& shape) const {
  BranchEnd end;
  end.residual = residual, end.shape = &shape;
  end.dropout = {norms.dropout, norms.dropout_place};
  end.norm = norms.branch.get();
  return end;
}

Var Block::forward(Tape& tape, Var x, const AttentionInput& self, const AttentionInput& cross) const {
  const Ragged& shape = *self.shape;
  const bool stores = ops::stores_bf16(tape);
  const auto branch = [&](const Norms& norms, const auto& layer, auto&& run) {
    Var start = norms.before ? norms.before->forward(tape, x, stores && layer.reads_bf16()) : x;
    Var sum = run(start, end_of(norms, x, shape));
    x = norms.after ? norms.after->forward(tape, sum) : sum;
  };
  branch(self_norms_, *self_,
         [&](Var start, const BranchEnd& end) { return self_->forward(tape, start, self, end); });
  if (cross_)
    branch(cross_norms_, *cross_,
           [&](Var start, const BranchEnd& end) { return cross_->forward(tape, start, cross, end); });
  branch(feed_forward_norms_, *feed_forward_,
         [&](Var start, const BranchEnd& end) { return feed_forward_->forward(tape, start, end); });
  if (adapter_)
    branch(adapter_norms_, *adapter_,
           [&](Var start, const BranchEnd& end) { return adapter_->forward(tape, start, end); });
  return show(tape, point_, "residual", x);
}

void Block::Norms::collect(std::vector<Parameter*>& parameters) {
  for (Norm* norm : {before.get(), branch.get(), after.get()})
    if (norm != nullptr) norm->collect(parameters);
}

void Block::collect(std::vector<Parameter*>& parameters) {
  self_->collect(parameters);
  self_norms_.collect(parameters);
  if (cross_) {
    cross_->collect(parameters);
    cross_norms_.collect(parameters);
  }
  feed_forward_->collect(parameters);
  feed_forward_norms_.collect(parameters);
  if (adapter_) {
    adapter_->collect(parameters);
    adapter_norms_.collect(parameters);
  }
}

void Block::prepare_for_inference(const Preparation& how) {
  self_->prepare_for_inference(how);
  if (cross_) cross_->prepare_for_inference(how);
  feed_forward_->prepare_for_inference(how);
  if (adapter_) adapter_->prepare_for_inference(how);
}

}  // namespace regard::nn
