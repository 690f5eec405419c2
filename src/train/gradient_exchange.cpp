#include "train/gradient_exchange.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "kernels/rows.h"

namespace regard::train {
namespace {

std::span<std::byte> bytes_of(float* values, std::int64_t count) {
  return std::as_writable_bytes(std::span(values, static_cast<std::size_t>(count)));
}

}  // namespace

GradientExchange::GradientExchange(distributed::Ranks& ranks, const Layout& layout)
    : ranks_(ranks),
      layout_(layout),
      buckets_((layout.elements + layout.bucket_elements - 1) / layout.bucket_elements),
      arriving_(static_cast<std::size_t>(buckets_)) {
  std::int64_t part = 0;
  for (std::int64_t bucket = 0; bucket < buckets_; ++bucket) {
    offsets_.push_back(part);
    part += part_size(bucket, ranks_.rank());
  }
  const std::int64_t each = layout_.leaves / ranks_.size();
  std::int64_t offset = 0;
  for (int rank = 0; rank < ranks_.size(); ++rank)
    for (const TreeNode& node : complete_nodes(rank * each, (rank + 1) * each)) {
      operands_.push_back({rank, node, offset});
      if (rank != ranks_.rank()) offset += part;
    }
  received_ = Tensor::zeros({offset});
  total_ = Tensor::zeros({sharded() ? part : layout_.elements});
}

// Return the index of the first element of a rank's part of a bucket. If `rank` is the number of ranks,
// return the end of the bucket.
std::int64_t GradientExchange::part_begin(std::int64_t bucket, int rank) const {
  const std::int64_t begin = begin_of(bucket), end = end_of(bucket);
  if (sharded()) return std::clamp(layout_.shards[static_cast<std::size_t>(rank)], begin, end);
  return begin + (end - begin) * rank / ranks_.size();
}

// Return a pointer to this rank's part of a bucket in total_.
float* GradientExchange::result(std::int64_t bucket) const {
  return total_.f32() + part_begin(bucket, ranks_.rank()) - first();
}

void GradientExchange::post(std::span<float* const> sums) {
  if (posted_ == 0) {
    exchange_ = std::make_unique<distributed::Exchange>(ranks_);
    sums_.assign(sums.begin(), sums.end());
  }
  assert(posted_ < buckets_);
  const std::int64_t bucket = posted_++;
  const int here = ranks_.rank();
  Posted& posted = arriving_[static_cast<std::size_t>(bucket)];
  posted.begin = exchange_->count();
  for (const Operand& operand : operands_)
    if (operand.rank != here)
      exchange_->receive(operand.rank, bytes_of(received_.f32() + operand.offset +
                                                    offsets_[static_cast<std::size_t>(bucket)],
                                                part_size(bucket, here)));
  posted.end = exchange_->count();
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (rank == here) continue;
    const std::int64_t begin = part_begin(bucket, rank), size = part_size(bucket, rank);
    if (!sharded())
      exchange_->receive(rank, bytes_of(total_.f32() + begin, size), distributed::Channel::results);
    for (float* sum : sums_) exchange_->send(rank, bytes_of(sum + begin, size));
  }
}

void GradientExchange::progress(ThreadPool& pool) {
  if (posted_ == 0) return;
  exchange_->progress();
  while (summed_ < posted_) {
    const Posted& next = arriving_[static_cast<std::size_t>(summed_)];
    if (!exchange_->done(next.begin, next.end)) return;
    sum_next(pool);
  }
}

void GradientExchange::finish(ThreadPool& pool) {
  assert(posted_ == buckets_);
  while (summed_ < buckets_) {
    const Posted& next = arriving_[static_cast<std::size_t>(summed_)];
    exchange_->wait(next.begin, next.end);
    sum_next(pool);
  }
  if (exchange_) exchange_->wait_all();
  exchange_.reset();
  posted_ = summed_ = 0;
}

// Compute this rank's part of the next bucket and, without shards, send it to all other ranks.
void GradientExchange::sum_next(ThreadPool& pool) {
  const std::int64_t bucket = summed_++, size = part_size(bucket, ranks_.rank());
  if (size == 0) return;
  float* own = result(bucket);
  std::memcpy(own, sum_of(pool, bucket), static_cast<std::size_t>(size) * sizeof(float));
  for (int rank = 0; rank < ranks_.size() && !sharded(); ++rank)
    if (rank != ranks_.rank()) exchange_->send(rank, bytes_of(own, size), distributed::Channel::results);
}

// Compute the remaining additions of the tree for this rank's part of a bucket, and return the sum over all
// ranks. The additions overwrite the operands.
float* GradientExchange::sum_of(ThreadPool& pool, std::int64_t bucket) {
  const std::int64_t begin = part_begin(bucket, ranks_.rank()), size = part_size(bucket, ranks_.rank());
  std::vector<std::pair<TreeNode, float*>> stack;
  const auto sum_last = [&] {
    float* left = stack[stack.size() - 2].second;
    kernels::add(pool, left, stack.back().second, left, size);
    stack.pop_back();
  };
  std::size_t own = 0;
  for (const Operand& operand : operands_) {
    float* values = operand.rank == ranks_.rank()
                        ? sums_[own++] + begin
                        : received_.f32() + operand.offset + offsets_[static_cast<std::size_t>(bucket)];
    stack.emplace_back(operand.node, values);
    while (stack.size() > 1 && are_siblings(stack[stack.size() - 2].first, stack.back().first)) {
      sum_last();
      stack.back().first = parent_of(stack.back().first);
    }
  }
  while (stack.size() > 1) sum_last();
  return stack.front().second;
}

}  // namespace regard::train
