// Sum of the gradients of several micro-batches as a fixed binary tree over their index: ((0+1)+(2+3))+…, so
// that the bits of the sum do not depend on how the micro-batches are distributed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "ops/parameter.h"

namespace regard::train {

class GradientSum {
 public:
  // `leaves`: the number of micro-batches. The parameters must outlive this object. It holds
  // ⌊log₂(leaves)⌋ + 2 copies of the gradient, none for one leaf.
  GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves);

  // Add the parameters' gradients as the next leaf and clear them. Allocates nothing.
  void add(ThreadPool& pool);
  // Write the sum of all leaves to the parameters' gradients and reset.
  void finish(ThreadPool& pool);

 private:
  struct Level {
    Tensor sum;
    bool used = false;
  };
  std::vector<Parameter*> parameters_;
  std::vector<Level> levels_;  // level l: the sum of 2^l leaves
  Tensor carry_;
};

}  // namespace regard::train
