// ForwardingProbe: base class of probes that forward each call to another probe. A derived class overrides
// the functions that it implements itself.
#pragma once

#include "base/namespaces.h"
#include "ops/attention_parameters.h"
#include "ops/replacing_probe.h"

namespace regard::ops {

class ForwardingProbe : public ReplacingProbe, public ParametersProbe {
 public:
  // `next` receives the calls. It is not owned and may be null.
  explicit ForwardingProbe(Probe* next = nullptr) { set_next(next); }

  void set_next(Probe* next) {
    next_ = next;
    replacing_ = dynamic_cast<ReplacingProbe*>(next);
    parameters_ = dynamic_cast<ParametersProbe*>(next);
  }

  bool wants(std::string_view point) override { return next_ != nullptr && next_->wants(point); }
  bool wants_head(std::string_view point, std::int64_t head) override {
    return next_ == nullptr || next_->wants_head(point, head);
  }
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override {
    if (next_ != nullptr) next_->see(point, sequence, value);
  }
  float head_scale(std::string_view point, std::int64_t head) override {
    return next_ == nullptr ? 1.0f : next_->head_scale(point, head);
  }
  bool wants_parameters(std::string_view point) override {
    return parameters_ != nullptr && parameters_->wants_parameters(point);
  }
  void see_parameters(std::string_view point,
                      const std::shared_ptr<const AttentionParameters>& parameters) override {
    if (parameters_ != nullptr) parameters_->see_parameters(point, parameters);
  }
  void begin(std::string_view stack, const Ragged& shape) override {
    if (replacing_ != nullptr) replacing_->begin(stack, shape);
  }
  Var replace(Tape& tape, std::string_view point, Var value) override {
    return replacing_ == nullptr ? value : replacing_->replace(tape, point, value);
  }
  bool may_replace(std::string_view point) override {
    return replacing_ != nullptr && replacing_->may_replace(point);
  }
  bool replaces_weights(std::string_view point, std::int64_t head) override {
    return replacing_ != nullptr && replacing_->replaces_weights(point, head);
  }
  // Forwards the call only if the next probe replaces the attention weights of this head.
  void replace_weights(std::string_view point, const ProbedWeights& weights) override {
    if (ForwardingProbe::replaces_weights(point, weights.head)) replacing_->replace_weights(point, weights);
  }

 private:
  Probe* next_;
  ReplacingProbe* replacing_;    // next_ if it is a ReplacingProbe, otherwise null
  ParametersProbe* parameters_;  // next_ if it is a ParametersProbe, otherwise null
};

}  // namespace regard::ops
