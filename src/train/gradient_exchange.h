// Exchange of gradient sums among ranks in buckets. The exchange starts during the backward pass.
//
// A bucket is a range of the gradient's elements, divided into one part per rank. Buckets go from the last
// element to the first, because the backward pass computes the gradients of the last layers first. A rank
// receives its part of the other ranks' sums, computes the remaining additions of the tree
// (reduction_tree.h), and sends the result to all ranks (reduce-scatter, then all-gather). Each rank sends
// and receives 2 (R − 1) / R times the size of the gradient, where R is the number of ranks. With shards, a
// rank's part of a bucket is the overlap of the bucket and the rank's shard, and the results are not sent.
//
// All ranks post the buckets in the same order, regardless of their speed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "distributed/ranks.h"
#include "regard/tensor.h"
#include "train/reduction_tree.h"

namespace regard::train {

class GradientExchange {
 public:
  struct Layout {
    std::int64_t elements = 0;         // number of elements of the gradient
    std::int64_t leaves = 0;           // number of micro-batches of all ranks
    std::int64_t bucket_elements = 0;  // maximum number of elements of a bucket
    // Rank r has the elements from shards[r] to shards[r + 1]. If empty, every rank gets all sums.
    std::vector<std::int64_t> shards{};
  };
  GradientExchange(distributed::Ranks& ranks, const Layout& layout);

  std::int64_t buckets() const { return buckets_; }
  std::int64_t begin_of(std::int64_t bucket) const {
    return std::max<std::int64_t>(0, end_of(bucket) - layout_.bucket_elements);
  }
  std::int64_t end_of(std::int64_t bucket) const {
    return layout_.elements - bucket * layout_.bucket_elements;
  }

  // Post the messages of the next bucket, without waiting. `sums` has the sum of each tree node that this
  // rank computes alone (complete_nodes()). The sums must stay valid until finish() returns. progress() and
  // finish() overwrite this rank's part of each sum.
  void post(std::span<float* const> sums);
  std::int64_t posted() const { return posted_; }  // number of buckets posted since finish()
  // Advance the transfer of messages without waiting; compute and send the sums whose operands have arrived.
  // Throws io as Ranks does.
  void progress(ThreadPool& pool);
  // Collective: wait until the sums of all buckets are complete; all buckets must have been posted. Throws io
  // as Ranks does.
  void finish(ThreadPool& pool);

  // Return the sum of the gradients over all ranks, from element first() of the gradient on. Call this after
  // finish().
  const Tensor& total() const { return total_; }
  std::int64_t first() const { return sharded() ? layout_.shards[rank()] : 0; }

 private:
  // An operand of this rank's additions: the sum of tree node `node`, computed by rank `rank`, for the
  // elements of this rank's parts.
  struct Operand {
    int rank;
    TreeNode node;
    std::int64_t offset;  // index of the operand's first element in received_; unused if `rank` is this rank
  };
  struct Posted {
    std::size_t begin = 0, end = 0;  // range of the messages that contain operands for this rank
  };
  bool sharded() const { return !layout_.shards.empty(); }
  std::size_t rank() const { return static_cast<std::size_t>(ranks_.rank()); }
  std::int64_t part_begin(std::int64_t bucket, int rank) const;
  std::int64_t part_size(std::int64_t bucket, int rank) const {
    return part_begin(bucket, rank + 1) - part_begin(bucket, rank);
  }
  float* result(std::int64_t bucket) const;
  float* sum_of(ThreadPool& pool, std::int64_t bucket);
  void sum_next(ThreadPool& pool);

  distributed::Ranks& ranks_;
  Layout layout_;
  std::int64_t buckets_ = 0;
  std::vector<Operand> operands_;  // in the order of their micro-batches
  std::vector<std::int64_t>
      offsets_;  // for each bucket, the number of elements of this rank's parts of all earlier buckets
  Tensor received_, total_;
  std::unique_ptr<distributed::Exchange> exchange_;  // exchange in progress; null between finish() and post()
  std::vector<float*> sums_;
  std::vector<Posted> arriving_;
  std::int64_t posted_ = 0, summed_ = 0;
};

}  // namespace regard::train
