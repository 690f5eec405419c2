// Trainer: steps of one model over one source of batches. Knows nothing of files, text or the screen.
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
#include "train/optimizer.h"
#include "train/schedule.h"

namespace regard::train {

struct TrainerOptions {
  AdamWOptions adamw;
  Schedule schedule;
  std::int64_t accumulate = 1;
  double clip_norm = 1.0;  // 0: none
  double label_smoothing = 0.0;
  std::uint64_t seed = 1;
  std::string frozen;  // the name of a weight that is not trained
};

struct StepResult {
  std::int64_t step = 0;  // done with this one; the first is 1
  double loss = 0;        // mean over the step's counted labels, in nats, label smoothing included
  double learning_rate = 0;
  double gradient_norm = 0;        // before clipping
  std::int64_t target_tokens = 0;  // counted labels; where there is none, loss and gradient are 0
  std::int64_t source_tokens = 0, sequences = 0;
};

class Trainer {
 public:
  // All of them must outlive the trainer. The model's weights become trainable, all but the frozen one.
  Trainer(Network& model, ThreadPool& pool, BatchSource& batches, const TrainerOptions& options);

  // One update of the weights. The same bits for any number of threads; allocates nothing once buffers have
  // grown, but for the plan of a new epoch. Throws numeric if loss or gradient is not finite; then neither
  // weights nor optimiser have changed, but the step counts as begun: do not go on.
  StepResult step();
  // The first half of a step: loss and gradients of the next batches. No weight changes, and steps() stays.
  StepResult compute_gradients();
  std::span<const Batch> batches() const { return batches_; }  // the micro-batches taken last

  std::int64_t steps() const { return optimizer_.steps(); }
  AdamW& optimizer() { return optimizer_; }
  Network& model() { return model_; }
  ThreadPool& pool() { return pool_; }
  // For passes between steps; a step forgets what is in it.
  Arena& arena() { return arena_; }
  std::size_t activation_bytes() const { return arena_.capacity(); }

 private:
  double backward(const Batch& batch, float factor);  // the micro-batch's loss
  void check_finite(double value, const char* what) const;

  Network& model_;
  ThreadPool& pool_;
  BatchSource& source_;
  TrainerOptions options_;
  std::vector<Parameter*> parameters_;
  AdamW optimizer_;
  GradientSum gradients_;
  Arena arena_;
  Tape tape_;
  std::vector<Batch> batches_;  // the step's micro-batches
};

// The pass that training and validation share: the loss of a batch times `factor`, summed over its tokens.
Var batch_loss(Network& model, Tape& tape, const Batch& batch, double label_smoothing, float factor);

}  // namespace regard::train
