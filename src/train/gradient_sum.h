// Sum of the gradients of a step's micro-batches over all ranks. The additions form a fixed binary tree over
// the index of the micro-batch in the step (reduction_tree.h), so that the bits of the sum do not depend on
// how the micro-batches are distributed.
//
// Of n micro-batches, rank r of R computes those from r · n/R to (r + 1) · n/R and sums them first. The
// gradient is divided into one part per rank. A rank receives its part of the other ranks' sums, computes the
// rest of the tree, and sends the result to all (reduce-scatter, then all-gather): each rank sends and
// receives 2 (R − 1) / R of the gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "distributed/ranks.h"
#include "ops/parameter.h"
#include "train/reduction_tree.h"

namespace regard::train {

class GradientSum {
 public:
  // `leaves` is the number of micro-batches of all ranks, a multiple of the number of ranks. `shards` holds
  // indices into `parameters`, one more than there are ranks; rank r gets the sums of the parameters from
  // index shards[r] to shards[r + 1]. If `shards` is empty, every rank gets all sums. Parameters and ranks
  // must outlive this object. Memory: up to ⌊log₂(leaves)⌋ + 1 copies of the gradient, or none for one leaf
  // on one rank. Several ranks require one more copy (with shards, only this rank's part of it), and memory
  // for the sums that the other ranks send for this rank's part.
  GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves,
              distributed::Ranks& ranks = distributed::Ranks::one(),
              std::span<const std::size_t> shards = {});

  // Add the parameters' gradients as this rank's next leaf and clear them. Does not allocate memory.
  void add(ThreadPool& pool);
  // Write the sum of all leaves to the parameters' gradients, and remove the leaves. With shards, only the
  // gradients of this rank's shard are defined. Collective. On one rank, it does not allocate memory. Throws
  // io as Ranks does.
  void finish(ThreadPool& pool);
  // true if sums need memory of their own; false for one leaf on one rank
  bool needed() const { return !slots_.empty(); }

 private:
  struct Slot {
    Tensor sum;
    TreeNode node;
  };
  // A part of another rank's sum, which this rank receives and adds.
  struct Received {
    int rank;
    TreeNode node;
    std::int64_t offset;  // index of the first element in received_
  };
  void cut(std::span<Parameter* const> parameters, std::span<const std::size_t> shards);
  void plan_messages();
  void post(distributed::Exchange& exchange);
  float* sum_of_bucket(ThreadPool& pool, std::int64_t begin, std::int64_t end);
  void combine(ThreadPool& pool);
  void sum_local(ThreadPool& pool);
  void write_gradients(const float* sums, std::int64_t first);
  std::int64_t begin_of(int rank) const { return cuts_[static_cast<std::size_t>(rank)]; }
  std::int64_t end_of(int rank) const { return cuts_[static_cast<std::size_t>(rank) + 1]; }

  distributed::Ranks& ranks_;
  std::vector<Parameter*> parameters_;
  std::int64_t leaves_ = 0, elements_ = 0;
  std::int64_t first_leaf_ = 0, next_leaf_ = 0;
  bool sharded_ = false;
  std::vector<Slot> slots_;  // memory for sums of nodes; only the first depth_ slots are in use
  std::size_t depth_ = 0;
  // The following members are used only with several ranks.
  std::vector<std::int64_t> cuts_;  // rank r has the elements from cuts_[r] to cuts_[r + 1]
  std::vector<Received> others_;    // sums of other ranks, in the order in which the tree adds them
  Tensor received_, total_;
  std::vector<std::size_t> arrived_;  // for each bucket, number of messages posted up to its end
};

}  // namespace regard::train
