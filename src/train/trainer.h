// Trainer: training steps of a model on batches of a BatchSource. Independent of files, text and output.
#pragma once

#include <cstdint>
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
  double clip_norm = 1.0;  // 0: no clipping
  NormType clip_norm_type = NormType::two;
  double label_smoothing = 0.0;
  double r_drop = 0.0;  // weight of the divergence between two passes (r_drop.h); 0: one pass
  kernels::Precision precision = kernels::Precision::f32;  // of matrix products
  bool gradient_checkpointing = false;                     // recompute layers (ops/checkpoint.h)
  std::uint64_t seed = 1;
  std::vector<Parameter*> only;     // the weights that are trained (an adapter's); empty: the model's
  std::vector<std::string> freeze;  // patterns of names of weights that are not trained (layer_rates.h)
  double layer_decay = 1.0;         // layer-wise learning-rate decay (layer_rates.h); 1: none
  double ema_decay = 0.0;           // moving average of the weights (weight_ema.h); 0 if there is none
  bool ema_warmup = false;
  std::int64_t max_skipped_steps = 0;  // greatest number of skipped steps in a row
  // The processes of data-parallel training. `accumulate` counts the micro-batches of all ranks together.
  distributed::Ranks* ranks = nullptr;  // null: this process alone
  bool shard_optimizer = false;         // each rank has the optimiser's state of a part of the weights
};

// Steps whose loss or gradient norm was not finite: weights and optimiser did not change.
struct SkippedSteps {
  std::int64_t total = 0, in_row = 0;
};

struct StepResult {
  std::int64_t step = 0;  // number of this step, from 1
  double loss = 0;        // weighted mean over the step's counted labels, with label smoothing
  double learning_rate = 0;
  double gradient_norm = 0;        // before clipping
  std::int64_t target_tokens = 0;  // counted labels
  double weight = 0;               // sum of their weights; if 0, loss and gradient are 0
  std::int64_t source_tokens = 0, tokens = 0, sequences = 0;  // Batch::tokens()
  bool skipped = false;  // loss or gradient norm is not finite, so the weights did not change
};

// With several ranks, every rank has the model, draws the same micro-batches and computes its share of them;
// gradients are summed over all, and every rank makes the same update. The weights are bit-identical on any
// number of ranks. The constructor and the functions marked collective must be called by all ranks.
class Trainer {
 public:
  // Model, pool, batches and objective must outlive the trainer. Makes all weights of the model trainable
  // except the frozen ones. Throws usage as make_optimizer(), freeze() and micro_batches_of_rank() do.
  Trainer(Network& model, ThreadPool& pool, BatchSource& batches, const Objective& objective,
          const TrainerOptions& options);

  // Collective. Run one training step and update the weights. Bit-identical for any number of threads.
  // Allocates nothing once buffers have grown, except for the plan of a new epoch. If loss or gradient norm
  // is not finite, the step is skipped: it counts as a step, but weights and optimiser do not change. Throws
  // numeric instead if that is more than max_skipped_steps in a row; the batches are consumed, so do not
  // continue.
  StepResult step();
  // Collective. The first half of step(): loss and gradients of the next batches. Weights and steps() do not
  // change. Throws numeric if loss or gradient norm is not finite.
  StepResult compute_gradients();
  // Return the micro-batches of the last step that this rank computed.
  std::span<const Batch> batches() const { return batches_; }

  std::int64_t steps() const { return steps_; }  // skipped ones included
  const SkippedSteps& skipped() const { return skipped_; }
  const Optimizer& optimizer() const { return *optimizer_; }

  // The state that resuming needs besides the model's weights: the optimiser's and, with a moving average,
  // the weights themselves, since the model then has the average: call it only during AveragedWeights. Views.
  std::vector<formats::NamedTensor> state() const;
  // Collective. The same; with a sharded optimiser, rank 0 gets the state of all ranks, as one rank would
  // have it, and the others nothing.
  std::vector<formats::NamedTensor> gathered_state() const;
  std::vector<Parameter*> trained() const { return parameters_; }
  // Load that state after the model's weights. Throws bad_file if it does not fit.
  void restore(const formats::SafetensorsFile& file, std::int64_t steps, const SkippedSteps& skipped);

  Network& model() { return model_; }
  ThreadPool& pool() { return pool_; }
  // Scratch memory for passes between steps; a step overwrites it.
  Arena& arena() { return arena_; }
  std::size_t activation_bytes() const { return arena_.capacity() + tape_.segment_bytes(); }

 private:
  friend class AveragedWeights;
  StepResult gradients();
  void draw(StepResult& result);
  double norm_of_gradient();
  double backward(const Batch& batch, float factor);  // returns the micro-batch's loss times factor
  void check_finite(const StepResult& result) const;

  Network& model_;
  ThreadPool& pool_;
  BatchSource& source_;
  const Objective& objective_;
  TrainerOptions options_;
  distributed::Ranks& ranks_;
  std::int64_t per_rank_;  // micro-batches of a step
  std::vector<Parameter*> parameters_;
  std::vector<std::size_t> shards_;  // rank_share.h; empty: not sharded
  std::unique_ptr<Optimizer> optimizer_;
  WeightEma average_;
  bool averaged_ = false;  // the model has the averages
  std::int64_t steps_ = 0;
  SkippedSteps skipped_;
  GradientSum gradients_;
  Arena arena_;
  Tape tape_;
  std::vector<Batch> batches_;  // this rank's micro-batches of the step
  Batch others_;                // one of another rank
  std::vector<double> losses_;  // of all micro-batches of the step
};

// While it exists, the model has the moving average of its weights, if there is one. May be nested.
class AveragedWeights {
 public:
  explicit AveragedWeights(Trainer& trainer);
  ~AveragedWeights();
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  Trainer* trainer_;  // null: nothing to restore
};

}  // namespace regard::train
