// Trainer: training steps of a model on batches of a BatchSource. Independent of files, text and output.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "models/network.h"
#include "tensor/arena.h"
#include "train/batch.h"
#include "train/gradient_sum.h"
#include "train/objective.h"
#include "train/optimizer.h"
#include "train/schedule.h"

namespace regard::train {

struct TrainerOptions {
  AdamWOptions adamw;
  Schedule schedule;
  std::int64_t accumulate = 1;
  double clip_norm = 1.0;  // 0: no clipping
  double label_smoothing = 0.0;
  std::uint64_t seed = 1;
  std::string frozen;  // name of a weight that is not trained; empty: none
};

struct StepResult {
  std::int64_t step = 0;  // number of this step, from 1
  double loss = 0;        // weighted mean over the step's counted labels, with label smoothing
  double learning_rate = 0;
  double gradient_norm = 0;        // before clipping
  std::int64_t target_tokens = 0;  // counted labels
  double weight = 0;               // sum of their weights; if 0, loss and gradient are 0
  std::int64_t source_tokens = 0, tokens = 0, sequences = 0;  // Batch::tokens()
};

class Trainer {
 public:
  // Model, pool, batches and objective must outlive the trainer. Makes all weights of the model trainable
  // except the frozen one.
  Trainer(Network& model, ThreadPool& pool, BatchSource& batches, const Objective& objective,
          const TrainerOptions& options);

  // Run one training step and update the weights. Bit-identical for any number of threads. Allocates nothing
  // once buffers have grown, except for the plan of a new epoch. Throws numeric if loss or gradient norm is
  // not finite; weights and optimiser are then unchanged, but the batches are consumed, so do not continue.
  StepResult step();
  // The first half of step(): loss and gradients of the next batches. Weights and steps() do not change.
  StepResult compute_gradients();
  std::span<const Batch> batches() const { return batches_; }  // the micro-batches of the last step

  std::int64_t steps() const { return optimizer_.steps(); }
  AdamW& optimizer() { return optimizer_; }
  Network& model() { return model_; }
  ThreadPool& pool() { return pool_; }
  // Scratch memory for passes between steps; a step overwrites it.
  Arena& arena() { return arena_; }
  std::size_t activation_bytes() const { return arena_.capacity(); }

 private:
  double backward(const Batch& batch, float factor);  // returns the micro-batch's loss times factor
  void check_finite(double value, const char* what) const;

  Network& model_;
  ThreadPool& pool_;
  BatchSource& source_;
  const Objective& objective_;
  TrainerOptions options_;
  std::vector<Parameter*> parameters_;
  AdamW optimizer_;
  GradientSum gradients_;
  Arena arena_;
  Tape tape_;
  std::vector<Batch> batches_;  // micro-batches of the step
};

}  // namespace regard::train
