// One forward pass of a model over a ragged batch of inputs, without padding. The results of an input are the
// same regardless of what else is in the batch.
#pragma once

#include <functional>
#include <span>

#include "base/thread_pool.h"
#include "models/network.h"
#include "ops/tape.h"
#include "tasks/reader.h"
#include "tensor/arena.h"

namespace regard::tasks {

// Maximum tokens of one forward pass; a longer input is computed in a forward pass of its own. A larger value
// requires more memory and is not faster.
constexpr std::int64_t kPassTokens = 1024;

class Pass {
 public:
  // `model`, `pool` and `probe` must outlive the Pass; `probe` may be null.
  Pass(Network& model, ThreadPool& pool, Probe* probe);

  // Hidden states of the last layer for all inputs; valid until the next run(), like all values on the tape.
  struct States {
    Var hidden = nullptr;  // [tokens, hidden]
    InputBatch batch;
  };
  States run(std::span<const Input> inputs);

  // Return the output of Network::head() for `states`; valid until the next run().
  Tensor head(const States& states);

  Tape& tape() { return tape_; }
  ThreadPool& pool() { return tape_.pool(); }

 private:
  Network& model_;
  Arena arena_;
  Tape tape_;
  Probe* probe_;
  InputBuffer batch_;
};

// Divide the inputs into consecutive groups of at most kPassTokens tokens, and call work(first, count) for
// each group in order. A longer input forms a group of its own. Images and sounds have no tokens, so they
// form a single group.
void in_passes(std::span<const Input> inputs,
               const std::function<void(std::size_t first, std::size_t count)>& work);

}  // namespace regard::tasks
