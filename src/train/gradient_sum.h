// Sum of the gradients of a step's micro-batches over all ranks. The additions form a fixed binary tree
// (reduction_tree.h) whose leaves are the gradients of the micro-batches. Therefore, the bits of the sum do
// not depend on the distribution of the micro-batches among ranks.
//
// Rank r of R computes micro-batches [r · n/R, (r + 1) · n/R) of n, and sums their gradients first.
// GradientExchange computes the rest of the tree.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "distributed/ranks.h"
#include "ops/parameter.h"
#include "train/gradient_exchange.h"
#include "train/reduction_tree.h"

namespace regard::train {

// A run on one rank needs memory for up to ⌊log₂(leaves)⌋ + 1 copies of the gradient, or for none if there is
// a single leaf. With several ranks, each rank needs one more copy and buffers for received sums. With
// shards, this additional copy contains only the rank's shard.
class GradientSum {
 public:
  // Default number of elements of a bucket (4 MiB).
  static constexpr std::int64_t kBucket = std::int64_t{1} << 20;

  // `leaves` is the number of micro-batches of all ranks, a multiple of the number of ranks. `shards` has one
  // element more than there are ranks: rank r gets the sums of the parameters [shards[r], shards[r + 1]). If
  // `shards` is empty, every rank gets all sums. Parameters and ranks must outlive this object.
  GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves,
              distributed::Ranks& ranks = distributed::Ranks::one(), std::span<const std::size_t> shards = {},
              std::int64_t bucket_elements = kBucket);

  // Add the parameters' gradients as this rank's next leaf and clear them. Does not allocate memory.
  void add(ThreadPool& pool);

  // With several ranks, the last leaf can be added during its backward pass instead of by add(). Call
  // begin_last() before the pass and progress() after each node. progress() sends the buckets whose gradients
  // are final, and throws io as Ranks does. finish() sends the other buckets.
  void begin_last();
  void progress(ThreadPool& pool, const std::function<bool(const Parameter&)>& is_final);

  // Collective. Write the sum of all leaves to the parameters' gradients, and remove the leaves. With shards,
  // only the gradients of this rank's shard are defined after the call. If there is only one rank, no memory
  // is allocated. Throws io as Ranks does.
  void finish(ThreadPool& pool);
  // Drop the leaves added so far. No exchange may be in progress.
  void discard() {
    depth_ = 0;
    next_leaf_ = first_leaf_;
  }
  // true if memory for sums is allocated; false for one leaf on one rank
  bool needed() const { return !slots_.empty(); }

 private:
  struct Slot {
    Tensor sum;
    TreeNode node;
  };
  std::vector<std::int64_t> cuts(std::span<Parameter* const> parameters,
                                 std::span<const std::size_t> shards) const;
  std::size_t begin_leaf();
  void add_range(ThreadPool& pool, std::int64_t begin, std::int64_t end);
  void copy_gradients(float* to, std::int64_t begin, std::int64_t end) const;
  void post_next(ThreadPool& pool);
  void write_gradients(const Tensor& sums, std::int64_t first);
  std::vector<float*> sums() const;

  distributed::Ranks& ranks_;
  std::vector<Parameter*> parameters_;
  std::vector<std::int64_t> offsets_{0};  // parameter i has the elements from offsets_[i] to offsets_[i + 1]
  std::int64_t first_leaf_ = 0, next_leaf_ = 0;
  std::vector<Slot> slots_;  // stack of tree nodes and their sums; only the first depth_ are in use
  std::size_t depth_ = 0;
  // Index in slots_ of the last leaf. add_range() adds each slot from leaf_slot_ down to depth_ to the slot
  // before it.
  std::size_t leaf_slot_ = 0;
  std::unique_ptr<GradientExchange> exchange_;  // exchange with other ranks; null on one rank
  bool in_last_ = false;                        // true between begin_last() and finish()
  std::size_t final_ = 0;  // gradients of parameters with this index or a higher index are final
};

}  // namespace regard::train
