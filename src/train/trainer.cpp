#include "train/trainer.h"

#include <fmt/format.h>

#include <cmath>

namespace regard::train {
namespace {

std::vector<Parameter*> made_trainable(Network& model, const std::string& frozen) {
  model.set_trainable(true);
  model.clear_gradients();
  std::vector<Parameter*> trained = model.parameters();
  std::erase_if(trained, [&frozen](Parameter* parameter) {
    if (frozen == parameter->name) parameter->set_trainable(false);
    return !parameter->trainable();
  });
  return trained;
}

}  // namespace

Trainer::Trainer(Network& model, ThreadPool& pool, BatchSource& batches, const Objective& objective,
                 const TrainerOptions& options)
    : model_(model),
      pool_(pool),
      source_(batches),
      objective_(objective),
      options_(options),
      parameters_(made_trainable(model, options.frozen)),
      optimizer_(parameters_, options.adamw),
      gradients_(parameters_, options.accumulate),
      tape_(pool, arena_),
      batches_(static_cast<std::size_t>(options.accumulate)) {}

StepResult Trainer::step() {
  const StepResult result = compute_gradients();
  optimizer_.step(pool_, result.learning_rate, clip_factor(result.gradient_norm, options_.clip_norm));
  return result;
}

StepResult Trainer::compute_gradients() {
  StepResult result;
  result.step = steps() + 1;
  result.learning_rate = options_.schedule.at(steps());
  for (Batch& batch : batches_) {
    source_.next(batch, static_cast<std::uint64_t>(result.sequences));
    result.sequences += batch.sequences();
    result.target_tokens += batch.target_tokens();
    result.weight += batch.weight();
    result.tokens += batch.tokens();
    result.source_tokens += static_cast<std::int64_t>(batch.source_ids.size());
  }
  for (Parameter* parameter : parameters_) parameter->clear_gradient();
  // A step without counted labels has loss 0 and gradient 0.
  const auto factor = result.weight == 0.0 ? 0.0f : static_cast<float>(1.0 / result.weight);
  for (const Batch& batch : batches_) {
    result.loss += backward(batch, factor);
    if (batches_.size() > 1) gradients_.add(pool_);
  }
  if (batches_.size() > 1) gradients_.finish(pool_);
  check_finite(result.loss, "loss");
  result.gradient_norm = gradient_norm(pool_, parameters_);
  check_finite(result.gradient_norm, "norm of the gradient");
  return result;
}

double Trainer::backward(const Batch& batch, float factor) {
  tape_.begin(
      {.record = true, .training = true, .seed = options_.seed, .step = static_cast<std::uint64_t>(steps())});
  Var loss =
      objective_.loss(model_, tape_, batch,
                      {.label_smoothing = static_cast<float>(options_.label_smoothing), .factor = factor});
  const double value = static_cast<double>(loss->value.f32()[0]);
  tape_.backward(loss);
  return value;
}

void Trainer::check_finite(double value, const char* what) const {
  if (std::isfinite(value)) return;
  throw Error(ErrorKind::numeric,
              fmt::format("training diverged: the {} of step {} is not finite", what, steps() + 1))
      .found(fmt::format("{}", value));
}

}  // namespace regard::train
