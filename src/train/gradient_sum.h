// The sum of the gradients of several micro-batches as a fixed binary tree over their index: ((0+1)+(2+3))+…,
// so that however the micro-batches are shared out, the bits of the sum are the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "ops/tape.h"

namespace regard::train {

class GradientSum {
 public:
  // The parameters must outlive this. Holds log₂(leaves) + 1 copies of the gradient; none for one leaf.
  GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves);

  // Takes the parameters' gradients as the next leaf and clears them. Allocates nothing.
  void add(ThreadPool& pool);
  // Puts the sum of all leaves into the parameters' gradients, and starts over.
  void finish(ThreadPool& pool);

 private:
  struct Level {
    Tensor sum;
    bool used = false;
  };
  std::vector<Parameter*> parameters_;
  std::vector<Level> levels_;  // level l: a sum of 2^l leaves
  Tensor carry_;
};

}  // namespace regard::train
