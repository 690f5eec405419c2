// Trainer performs the training steps of a model on the batches of a BatchSource.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "distributed/ranks.h"
#include "models/network.h"
#include "ops/tape.h"
#include "tensor/arena.h"
#include "train/batch.h"
#include "train/gradient_clip.h"
#include "train/gradient_sum.h"
#include "train/objective.h"
#include "train/optimizers/optimizer.h"
#include "train/schedule.h"
#include "train/weight_ema.h"

namespace regard::train {

struct TrainerOptions {
  OptimizerOptions optimizer;
  Schedule schedule;
  std::int64_t accumulate = 1;
  double clip_norm = 1.0;  // maximum norm of the gradient; 0 disables clipping
  NormType clip_norm_type = NormType::two;
  double label_smoothing = 0.0;
  // weight of the divergence between two forward passes (r_drop.h); 0 disables R-Drop
  double r_drop = 0.0;
  kernels::Precision precision = kernels::Precision::f32;  // precision of matrix products
  bool gradient_checkpointing = false;  // recompute layers in the backward pass (ops/checkpoint.h)
  std::uint64_t seed = 1;
  // weights to train, such as those of an adapter; empty means all weights of the model
  std::vector<Parameter*> only;
  std::vector<std::string> freeze;  // name patterns of the weights to freeze (layer_rates.h)
  double layer_decay = 1.0;         // layer-wise learning-rate decay (layer_rates.h); 1 disables it
  // decay rate of the moving average of the weights (weight_ema.h); 0 disables the average
  double ema_decay = 0.0;
  bool ema_warmup = false;
  std::int64_t max_skipped_steps = 0;  // maximum number of skipped steps in a row
  // The processes of data-parallel training; null if there is only this process. `accumulate` is the number
  // of micro-batches of all ranks together.
  distributed::Ranks* ranks = nullptr;
  bool shard_optimizer = false;                         // divide the optimiser's state among the ranks
  std::int64_t bucket_elements = GradientSum::kBucket;  // maximum number of elements of a gradient bucket
};

// Counts of the steps whose loss or gradient norm was not finite. Such a step does not change the weights or
// the state of the optimiser.
struct SkippedSteps {
  std::int64_t total = 0, in_row = 0;
};

struct StepResult {
  std::int64_t step = 0;  // number of this step, from 1
  double loss = 0;        // weighted mean of the loss per label, with label smoothing
  double learning_rate = 0;
  double gradient_norm = 0;        // norm of the gradient before clipping
  std::int64_t target_tokens = 0;  // number of labels that are counted in the loss
  double weight = 0;               // sum of the labels' weights; if it is 0, loss and gradient are 0
  // numbers of source tokens, of tokens (Batch::tokens()) and of sequences in the step
  std::int64_t source_tokens = 0, tokens = 0, sequences = 0;
  // true if loss or gradient norm is not finite; the step counts, but weights and optimiser did not change
  bool skipped = false;
};

// Thrown by Trainer::step() if it is interrupted. It is not an error.
struct StepAbandoned {};

// With several ranks, every rank has the whole model and computes its share of a step's micro-batches. The
// gradients are summed over all ranks, so the weights are bit-identical for any number of ranks. All ranks
// must call the constructor and the functions marked collective.
class Trainer {
 public:
  // Model, pool, batches and objective must outlive the trainer. If options.only is empty, all weights of the
  // model except the frozen ones become trainable. Otherwise, only the weights in options.only become
  // trainable. Throws usage as make_optimizer(), freeze() and micro_batches_of_rank() do.
  Trainer(Network& model, ThreadPool& pool, BatchSource& batches, const Objective& objective,
          const TrainerOptions& options);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Collective. Run one training step, and update the weights unless the step is skipped
  // (StepResult::skipped). The result is bit-identical for any number of threads. Memory is allocated only at
  // the start of an epoch and until the buffers have reached their maximum size. Throws numeric if more than
  // max_skipped_steps steps in a row would be skipped. Training must not continue after this error, because
  // the step's batches are lost.
  StepResult step();
  // Set the function that step() calls between operations; an empty function disables interruption. If the
  // function returns true, step() throws StepAbandoned and leaves weights, optimiser and position in the data
  // unchanged. Throws usage if there are several ranks, because the other ranks would wait for the abandoned
  // step.
  void set_interrupt(std::function<bool()> interrupt);
  // Collective. Compute loss and gradients of the next batches, which is the first half of step(). Weights
  // and steps() do not change. Throws numeric if loss or gradient norm is not finite.
  StepResult compute_gradients();
  // Return the micro-batches of the last step that this rank computed.
  std::span<const Batch> batches() const { return batches_; }

  std::int64_t steps() const { return steps_; }  // number of steps so far, including skipped ones
  const SkippedSteps& skipped() const { return skipped_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  // Return views of the optimiser's state, and of the weights if there is a moving average. This state and
  // the weights of the model are sufficient for resuming. If there is a moving average, call this function
  // only during the lifetime of an AveragedWeights: the model then contains the averages.
  std::vector<formats::NamedTensor> state() const;
  // Collective. Return the state as state() does. With a sharded optimiser, rank 0 returns the state of all
  // ranks, like a run on a single rank; the lists of the other ranks are incomplete.
  std::vector<formats::NamedTensor> gathered_state() const;
  std::vector<Parameter*> trained() const { return parameters_; }
  // Restore the state that gathered_state() returned, from a file that contains it. Load the model's weights
  // first. Throws bad_file if the state does not match the model.
  void restore(const formats::SafetensorsFile& file, std::int64_t steps, const SkippedSteps& skipped);

  Network& model() { return model_; }
  ThreadPool& pool() { return pool_; }
  // Memory of the activations. A validation between two steps may use it; the next step overwrites it.
  Arena& arena() { return arena_; }
  std::size_t activation_bytes() const { return arena_.touched() + tape_.segment_bytes(); }

 private:
  friend class AveragedWeights;
  StepResult gradients();
  void sum_micro_batches(float factor);
  void draw();
  double norm_of_gradient();
  // Run the forward and backward pass of a micro-batch, and return its loss times `factor`. If `send` is
  // true, gradients are sent to the other ranks during the backward pass.
  double backward(const Batch& batch, float factor, bool send);
  void check_finite(const StepResult& result) const;

  Network& model_;
  ThreadPool& pool_;
  BatchSource& source_;
  const Objective& objective_;
  TrainerOptions options_;
  distributed::Ranks& ranks_;
  std::int64_t per_rank_;  // number of micro-batches of this rank per step
  std::vector<Parameter*> parameters_;
  // bounds of the ranks' shards in parameters_ (see shard_bounds()); empty if the optimiser is not sharded
  std::vector<std::size_t> shards_;
  std::unique_ptr<Optimizer> optimizer_;
  WeightEma average_;
  bool averaged_ = false;  // true while the model contains the averages instead of the weights
  std::int64_t steps_ = 0;
  SkippedSteps skipped_;
  GradientSum gradients_;
  Arena arena_;
  Tape tape_;
  std::vector<Batch> batches_;       // micro-batches of this rank in the step
  Batch others_;                     // buffer for a micro-batch of another rank
  std::vector<double> losses_;       // losses of all micro-batches of the step
  std::function<bool()> interrupt_;  // may be empty
  std::vector<BatchSizes> sizes_;    // sizes of all micro-batches of the step
};

// During the lifetime of this object, the model contains the moving average of its weights, if there is one.
// Objects may be nested.
class AveragedWeights {
 public:
  explicit AveragedWeights(Trainer& trainer);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  // the trainer whose weights the destructor restores; null if there is nothing to restore
  Trainer* trainer_;
};

}  // namespace regard::train
