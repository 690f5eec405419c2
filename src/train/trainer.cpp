#include "train/trainer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/counted.h"
#include "ops/parameter.h"
#include "ops/tape_observer.h"
#include "train/layer_rates.h"
#include "train/rank_share.h"
#include "train/sharded_batches.h"

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

std::vector<std::size_t> shards_of(std::span<Parameter* const> parameters, const TrainerOptions& options) {
  if (!options.shard_optimizer || options.ranks == nullptr || options.ranks->alone()) return {};
  return shard_bounds(parameters, options.ranks->size());
}

// Return the optimiser for all parameters or, if it is sharded, for this rank's shard.
std::unique_ptr<Optimizer> optimizer_of(Network& model, std::span<Parameter* const> parameters,
                                        std::span<const std::size_t> shards, const TrainerOptions& options) {
  const std::vector<double> rates = layer_rates(model.parameters(), parameters, options.layer_decay);
  if (shards.empty()) return make_optimizer(parameters, options.optimizer, rates);
  const auto rank = static_cast<std::size_t>(options.ranks->rank());
  const std::size_t begin = shards[rank], count = shards[rank + 1] - begin;
  return make_optimizer(parameters.subspan(begin, count), options.optimizer,
                        rates.empty() ? std::span<const double>() : std::span(rates).subspan(begin, count));
}

// Observes the forward and backward pass of a micro-batch: abandons the step if it is interrupted, and sends
// gradients to the other ranks as soon as they are complete.
class PassObserver : public TapeObserver {
 public:
  // If `sum` is null, no gradients are sent during the backward pass.
  PassObserver(const std::function<bool()>& interrupt, GradientSum* sum, ThreadPool& pool,
               std::span<Parameter* const> parameters)
      : interrupt_(interrupt), sum_(sum), pool_(pool) {
    if (sum_ == nullptr) return;
    sum_->begin_last();
    for (Parameter* parameter : parameters) track(*parameter);
  }

 protected:
  void between_operations() override {
    if (interrupt_ && interrupt_()) throw StepAbandoned{};
    if (sum_ != nullptr)
      sum_->progress(pool_, [this](const Parameter& parameter) { return is_final(parameter); });
  }

 private:
  const std::function<bool()>& interrupt_;
  GradientSum* sum_;
  ThreadPool& pool_;
};

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
      ranks_(options.ranks == nullptr ? distributed::Ranks::one() : *options.ranks),
      per_rank_(micro_batches_of_rank(options.accumulate, ranks_.size())),
      parameters_(made_trainable(model, options)),
      shards_(shards_of(parameters_, options)),
      optimizer_(optimizer_of(model, parameters_, shards_, options)),
      average_(parameters_, options.ema_decay, options.ema_warmup),
      gradients_(parameters_, options.accumulate, ranks_, shards_, options.bucket_elements),
      tape_(pool, arena_),
      batches_(static_cast<std::size_t>(per_rank_)),
      losses_(static_cast<std::size_t>(options.accumulate)),
      sizes_(static_cast<std::size_t>(options.accumulate)) {}

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
    if (!shards_.empty()) share_weights(ranks_, parameters_, shards_);
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
  const Json position = interrupt_ ? source_.state() : Json();
  draw();
  BatchSizes drawn;
  for (const BatchSizes& sizes : sizes_) drawn.add(sizes);
  result.sequences = drawn.sequences;
  result.target_tokens = drawn.target_tokens;
  result.tokens = drawn.tokens;
  result.source_tokens = drawn.source_tokens;
  result.weight = drawn.weight;
  for (Parameter* parameter : parameters_) parameter->clear_gradient();
  try {
    // A step without counted labels has loss 0 and gradient 0.
    sum_micro_batches(result.weight == 0.0 ? 0.0f : static_cast<float>(1.0 / result.weight));
  } catch (const StepAbandoned&) {
    gradients_.discard();
    source_.restore(position, "");
    throw;
  }
  for (const double loss : losses_) result.loss += loss;
  result.gradient_norm = norm_of_gradient();
  return result;
}

// Compute the losses of all micro-batches and the sum of their gradients.
void Trainer::sum_micro_batches(float factor) {
  const std::span<double> losses =
      std::span(losses_).subspan(static_cast<std::size_t>(ranks_.rank() * per_rank_), batches_.size());
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    // The gradients of the last micro-batch are sent to the other ranks during the backward pass.
    const bool during = !ranks_.alone() && i + 1 == batches_.size();
    losses[i] = backward(batches_[i], factor, during);
    if (!during && gradients_.needed()) gradients_.add(pool_);
  }
  gradients_.finish(pool_);
  if (ranks_.alone()) return;
  const std::vector<double> own(losses.begin(), losses.end());
  ranks_.gather_bytes(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(losses_)));
}

void Trainer::set_interrupt(std::function<bool()> interrupt) {
  if (!ranks_.alone())
    throw usage_error("a step cannot be interrupted if there are several ranks")
        .found(counted(ranks_.size(), "rank"))
        .expected("1 rank");
  interrupt_ = std::move(interrupt);
}

// Draw the micro-batches of the step, keep this rank's micro-batches, and set the sizes of all micro-batches.
// Every rank draws all micro-batches unless the data is sharded.
void Trainer::draw() {
  if (ShardedBatches* shards = source_.sharded()) {
    for (Batch& batch : batches_) shards->next(batch, 0);
    shards->exchange_sizes(batches_, sizes_);
    return;
  }
  const std::int64_t first = ranks_.rank() * per_rank_;
  std::int64_t sequences = 0;
  for (std::int64_t i = 0; i < options_.accumulate; ++i) {
    const bool here = i >= first && i < first + per_rank_;
    Batch& batch = here ? batches_[static_cast<std::size_t>(i - first)] : others_;
    source_.next(batch, static_cast<std::uint64_t>(sequences));
    sizes_[static_cast<std::size_t>(i)] = BatchSizes::of(batch);
    sequences += batch.sequences();
  }
}

double Trainer::norm_of_gradient() {
  if (shards_.empty()) return gradient_norm(pool_, parameters_, options_.clip_norm_type);
  // Each rank has only the gradients of its own shard, so the ranks exchange each parameter's contribution to
  // the norm.
  std::vector<double> parts(parameters_.size());
  const auto rank = static_cast<std::size_t>(ranks_.rank());
  for (std::size_t i = shards_[rank]; i < shards_[rank + 1]; ++i)
    if (parameters_[i]->trainable()) parts[i] = norm_part(pool_, *parameters_[i], options_.clip_norm_type);
  std::vector<double> all(parts.size() * static_cast<std::size_t>(ranks_.size()));
  ranks_.gather_bytes(std::as_bytes(std::span(parts)), std::as_writable_bytes(std::span(all)));
  for (std::size_t owner = 0; owner + 1 < shards_.size(); ++owner)
    for (std::size_t i = shards_[owner]; i < shards_[owner + 1]; ++i)
      parts[i] = all[owner * parts.size() + i];
  return norm_of_parts(parts, options_.clip_norm_type);
}

double Trainer::backward(const Batch& batch, float factor, bool send) {
  tape_.begin({.record = true,
               .training = true,
               .seed = options_.seed,
               .step = static_cast<std::uint64_t>(steps()),
               .checkpoint = options_.gradient_checkpointing,
               .precision = options_.precision});
  PassObserver observer(interrupt_, send ? &gradients_ : nullptr, pool_, parameters_);
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

std::vector<formats::NamedTensor> Trainer::gathered_state() const {
  if (shards_.empty()) return state();
  std::vector<formats::NamedTensor> tensors = gather_tensors(ranks_, optimizer_->state());
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
