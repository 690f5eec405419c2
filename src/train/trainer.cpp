#include "train/trainer.h"

#include "ops/parameter.h"

#include <fmt/format.h>

#include <cmath>

#include "train/layer_rates.h"

namespace regard::train {
namespace {

std::vector<Parameter*> made_trainable(Network& model, const TrainerOptions& options) {
  model.set_trainable(options.only.empty());
  for (Parameter* parameter : options.only) parameter->set_trainable(true);
  if (!options.only.empty()) return options.only;
  model.clear_gradients();
  std::vector<Parameter*> trained = model.parameters();
  freeze(trained, options.freeze);
  std::erase_if(trained, [](const Parameter* parameter) { return !parameter->trainable(); });
  return trained;
}

bool is_finite(const StepResult& result) {
  return std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
}

}  // namespace

Trainer::Trainer(Network& model, ThreadPool& pool, BatchSource& batches, const Objective& objective,
                 const TrainerOptions& options)
    : model_(model),
      pool_(pool),
      source_(batches),
      objective_(objective),
      options_(options),
      parameters_(made_trainable(model, options)),
      optimizer_(make_optimizer(parameters_, options.optimizer,
                                layer_rates(model.parameters(), parameters_, options.layer_decay))),
      average_(parameters_, options.ema_decay, options.ema_warmup),
      gradients_(parameters_, options.accumulate),
      tape_(pool, arena_),
      batches_(static_cast<std::size_t>(options.accumulate)) {}

StepResult Trainer::step() {
  StepResult result = gradients();
  result.skipped = !is_finite(result);
  if (result.skipped) {
    if (skipped_.in_row >= options_.max_skipped_steps) check_finite(result);
    ++skipped_.in_row;
    ++skipped_.total;
  } else {
    skipped_.in_row = 0;
    optimizer_->step(pool_, result.learning_rate, clip_factor(result.gradient_norm, options_.clip_norm));
    average_.update(pool_, optimizer_->steps());
  }
  ++steps_;
  return result;
}

StepResult Trainer::compute_gradients() {
  const StepResult result = gradients();
  check_finite(result);
  return result;
}

StepResult Trainer::gradients() {
  StepResult result;
  result.step = steps() + 1;
  result.learning_rate = optimizer_->rate(options_.schedule.at(steps()));
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
  result.gradient_norm = gradient_norm(pool_, parameters_, options_.clip_norm_type);
  return result;
}

double Trainer::backward(const Batch& batch, float factor) {
  tape_.begin({.record = true,
               .training = true,
               .seed = options_.seed,
               .step = static_cast<std::uint64_t>(steps()),
               .checkpoint = options_.gradient_checkpointing,
               .precision = options_.precision});
  Var loss = objective_.loss(model_, tape_, batch,
                             {.label_smoothing = static_cast<float>(options_.label_smoothing),
                              .factor = factor,
                              .r_drop = static_cast<float>(options_.r_drop)});
  const double value = static_cast<double>(loss->value.f32()[0]);
  tape_.backward(loss);
  return value;
}

void Trainer::check_finite(const StepResult& result) const {
  if (is_finite(result)) return;
  const bool loss = !std::isfinite(result.loss);
  std::string message = fmt::format("training diverged: the {} of step {} is not finite",
                                    loss ? "loss" : "norm of the gradient", steps() + 1);
  if (skipped_.in_row > 0) message += fmt::format(", after {} skipped steps in a row", skipped_.in_row);
  throw Error(ErrorKind::numeric, message)
      .found(fmt::format("{}", loss ? result.loss : result.gradient_norm));
}

std::vector<formats::NamedTensor> Trainer::state() const {
  std::vector<formats::NamedTensor> tensors = optimizer_->state();
  for (const formats::NamedTensor& tensor : average_.state()) tensors.push_back(tensor);
  return tensors;
}

void Trainer::restore(const formats::SafetensorsFile& file, std::int64_t steps, const SkippedSteps& skipped) {
  optimizer_->restore(file, steps - skipped.total);
  average_.restore(file);
  steps_ = steps;
  skipped_ = skipped;
}

AveragedWeights::AveragedWeights(Trainer& trainer)
    : trainer_(trainer.average_.active() && !trainer.averaged_ ? &trainer : nullptr) {
  if (trainer_ == nullptr) return;
  trainer_->average_.exchange();
  trainer_->averaged_ = true;
}

AveragedWeights::~AveragedWeights() {
  if (trainer_ == nullptr) return;
  trainer_->average_.exchange();
  trainer_->averaged_ = false;
}

}  // namespace regard::train
