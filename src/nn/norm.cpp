#include "nn/norm.h"

namespace regard::nn {

Norm::Norm(const std::string& name, std::int64_t size, const NormConfig& config) {
  options_.epsilon = static_cast<float>(config.epsilon);
  options_.rms = config.rms;
  options_.gain_offset = static_cast<float>(config.gain_offset);
  gain_ = std::make_unique<Parameter>();
  gain_->name = name + ".weight";
  gain_->variable.value = declared({size});
  if (config.gain_offset == 0.0) gain_->initial.kind = Initialisation::Kind::ones;
  if (config.rms || !config.bias) return;
  bias_ = std::make_unique<Parameter>();
  bias_->name = name + ".bias";
  bias_->variable.value = declared({size});
}

Var Norm::forward(Tape& tape, Var x, bool store_bf16) const {
  ops::NormOptions options = options_;
  options.store_bf16 = store_bf16;
  return ops::norm(tape, x, &gain_->variable, bias_ ? &bias_->variable : nullptr, options);
}

void Norm::collect(std::vector<Parameter*>& parameters) {
  parameters.push_back(gain_.get());
  if (bias_) parameters.push_back(bias_.get());
}

}  // namespace regard::nn
