#include "train/optimizers/optimizer.h"

#include <cstring>

#include "train/optimizers/adafactor.h"
#include "train/optimizers/elementwise.h"
#include "train/optimizers/muon.h"

namespace regard::train {

Optimizer::Optimizer(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                     std::span<const double> rate_factors)
    : options_(options) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter* parameter = parameters[i];
    if (!parameter->trainable()) continue;
    const bool decays = options.decay_all || parameter->value().shape().rank() >= 2;
    slots_.push_back(
        {parameter, decays ? options.weight_decay : 0.0, rate_factors.empty() ? 1.0 : rate_factors[i], {}});
  }
}

void Optimizer::step(ThreadPool& pool, double learning_rate, double gradient_scale) {
  const double of_step = rate(learning_rate);
  ++steps_;
  for (Slot& slot : slots_) update(pool, slot, {of_step * slot.rate_factor, gradient_scale, steps_});
}

std::vector<formats::NamedTensor> Optimizer::state() const {
  std::vector<formats::NamedTensor> tensors;
  for (const Slot& slot : slots_)
    for (const State& state : slot.state)
      tensors.push_back({std::string(state.kind) + "." + slot.parameter->name, state.tensor});
  return tensors;
}

void Optimizer::restore(const formats::SafetensorsFile& file, std::int64_t steps) {
  for (const formats::NamedTensor& target : state()) {
    const Tensor saved = file.tensor(target.name);
    if (saved.dtype() != DType::f32 || !(saved.shape() == target.tensor.shape()))
      throw file_error(file.path().string(),
                       "the optimiser state '" + target.name + "' does not match the model")
          .found(saved.shape().text())
          .expected(target.tensor.shape().text());
    std::memcpy(target.tensor.data(), saved.data(), target.tensor.bytes());
  }
  steps_ = steps;
}

namespace {

struct Method {
  const char* name;
  std::unique_ptr<Optimizer> (*make)(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                                     std::span<const double> rate_factors);
};

template <class T>
std::unique_ptr<Optimizer> made(std::span<Parameter* const> parameters, const OptimizerOptions& options,
                                std::span<const double> rate_factors) {
  return std::make_unique<T>(parameters, options, rate_factors);
}

template <const ElementwiseMethod& method>
std::unique_ptr<Optimizer> made_elementwise(std::span<Parameter* const> parameters,
                                            const OptimizerOptions& options,
                                            std::span<const double> rate_factors) {
  return std::make_unique<ElementwiseOptimizer>(method, parameters, options, rate_factors);
}

constexpr Method kMethods[] = {
    {"adamw", made_elementwise<kAdamW>},       {"adam", made_elementwise<kAdam>},
    {"sgd", made_elementwise<kSgd>},           {"adafactor", made<Adafactor>},
    {"adafactor-torch", made<AdafactorTorch>}, {"muon", made<Muon>},
    {"rmsprop", made_elementwise<kRmsProp>},   {"adagrad", made_elementwise<kAdagrad>},
};

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Method& method : kMethods) all.push_back(method.name);
    return all;
  }();
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(std::span<Parameter* const> parameters,
                                          const OptimizerOptions& options,
                                          std::span<const double> rate_factors) {
  for (const Method& method : kMethods)
    if (options.method == method.name) return method.make(parameters, options, rate_factors);
  std::string known;
  for (const std::string& name : optimizer_names()) known += (known.empty() ? "" : ", ") + name;
  throw usage_error("unknown optimiser").found("'" + options.method + "'").expected(known);
}

}  // namespace regard::train
