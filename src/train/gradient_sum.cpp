#include "train/gradient_sum.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "kernels/rows.h"

namespace regard::train {
namespace {

// Number of elements per message. While one bucket is summed, the messages of the next ones are transferred.
constexpr std::int64_t kBucket = std::int64_t{1} << 19;
static_assert(kBucket * sizeof(float) <= distributed::Exchange::kLargest, "a bucket is one message");

std::span<std::byte> bytes_of(float* values, std::int64_t count) {
  return std::as_writable_bytes(std::span(values, static_cast<std::size_t>(count)));
}

}  // namespace

GradientSum::GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves,
                         distributed::Ranks& ranks, std::span<const std::size_t> shards)
    : ranks_(ranks), leaves_(leaves), sharded_(!shards.empty()) {
  if (leaves < 2 && ranks.alone()) return;
  for (Parameter* parameter : parameters) {
    if (!parameter->trainable()) continue;
    parameters_.push_back(parameter);
    elements_ += parameter->gradient().elements();
  }
  const std::int64_t each = leaves / ranks.size();
  assert(each * ranks.size() == leaves);
  first_leaf_ = next_leaf_ = ranks.rank() * each;
  slots_.resize(most_nodes(first_leaf_, first_leaf_ + each));
  for (Slot& slot : slots_) slot.sum = Tensor::zeros({elements_});
  if (ranks.alone()) return;
  cut(parameters, shards);
  plan_messages();
}

// Set the part of the gradient that each rank sums: equal parts or, if given, the shards.
void GradientSum::cut(std::span<Parameter* const> parameters, std::span<const std::size_t> shards) {
  const int ranks = ranks_.size();
  if (!sharded_) {
    for (int rank = 0; rank <= ranks; ++rank) cuts_.push_back(elements_ / ranks * rank);
    cuts_.back() = elements_;
    return;
  }
  std::size_t next = 0;
  std::int64_t before = 0;
  for (const std::size_t bound : shards) {
    for (; next < bound; ++next)
      if (parameters[next]->trainable()) before += parameters[next]->gradient().elements();
    cuts_.push_back(before);
  }
}

void GradientSum::plan_messages() {
  const std::int64_t each = leaves_ / ranks_.size(), part = end_of(ranks_.rank()) - begin_of(ranks_.rank());
  std::int64_t offset = 0;
  for (int rank = 0; rank < ranks_.size(); ++rank)
    for (const TreeNode& node : complete_nodes(rank * each, (rank + 1) * each)) {
      others_.push_back({rank, node, offset});
      if (rank != ranks_.rank()) offset += part;
    }
  received_ = Tensor::zeros({offset});
  total_ = Tensor::zeros({sharded_ ? part : elements_});
  arrived_.resize(static_cast<std::size_t>((part + kBucket - 1) / kBucket));
}

void GradientSum::add(ThreadPool& pool) {
  assert(depth_ < slots_.size() && "more micro-batches than announced");
  Slot& leaf = slots_[depth_++];
  leaf.node = {0, next_leaf_++};
  float* to = leaf.sum.f32();
  for (Parameter* parameter : parameters_) {
    const Tensor& gradient = parameter->gradient();
    std::memcpy(to, gradient.data(), gradient.bytes());
    to += gradient.elements();
    parameter->clear_gradient();
  }
  while (depth_ > 1 && are_siblings(slots_[depth_ - 2].node, slots_[depth_ - 1].node)) {
    sum_local(pool);
    slots_[depth_ - 1].node = parent_of(slots_[depth_ - 1].node);
  }
}

// Add the last slot to the slot before it.
void GradientSum::sum_local(ThreadPool& pool) {
  Slot &left = slots_[depth_ - 2], &right = slots_[depth_ - 1];
  kernels::add(pool, left.sum.f32(), right.sum.f32(), left.sum.f32(), elements_);
  --depth_;
}

void GradientSum::finish(ThreadPool& pool) {
  if (depth_ == 0) return;
  if (ranks_.alone()) {
    while (depth_ > 1) sum_local(pool);
    write_gradients(slots_[0].sum.f32(), 0);
  } else {
    combine(pool);
    write_gradients(total_.f32(), sharded_ ? begin_of(ranks_.rank()) : 0);
  }
  depth_ = 0;
  next_leaf_ = first_leaf_;
}

// Write sums to the gradients of the parameters. `sums` starts with element `first` of the whole gradient;
// parameters that are not in `sums` are skipped.
void GradientSum::write_gradients(const float* sums, std::int64_t first) {
  const std::int64_t end = first + (ranks_.alone() ? elements_ : total_.elements());
  std::int64_t at = 0;
  for (Parameter* parameter : parameters_) {
    const Tensor& gradient = parameter->gradient();
    if (at >= first && at + gradient.elements() <= end)
      std::memcpy(gradient.data(), sums + (at - first), gradient.bytes());
    at += gradient.elements();
  }
}

// Post all messages of the reduce-scatter, bucket after bucket.
void GradientSum::post(distributed::Exchange& exchange) {
  const int here = ranks_.rank();
  std::int64_t longest = 0;
  for (int rank = 0; rank < ranks_.size(); ++rank) longest = std::max(longest, end_of(rank) - begin_of(rank));
  const std::int64_t part = end_of(here) - begin_of(here);
  for (std::int64_t begin = 0; begin < longest; begin += kBucket) {
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const std::int64_t from = begin_of(rank) + begin;
      if (rank == here || from >= end_of(rank)) continue;
      for (std::size_t i = 0; i < depth_; ++i)
        exchange.send(rank, bytes_of(slots_[i].sum.f32() + from, std::min(kBucket, end_of(rank) - from)));
    }
    if (begin >= part) continue;
    for (const Received& other : others_)
      if (other.rank != here)
        exchange.receive(other.rank,
                         bytes_of(received_.f32() + other.offset + begin, std::min(kBucket, part - begin)));
    arrived_[static_cast<std::size_t>(begin / kBucket)] = exchange.count();
  }
}

// Compute the rest of the tree for elements `begin` to `end` of this rank's part, and return their sum over
// all ranks. The operands are overwritten.
float* GradientSum::sum_of_bucket(ThreadPool& pool, std::int64_t begin, std::int64_t end) {
  std::vector<std::pair<TreeNode, float*>> stack;
  const auto sum_last = [&] {
    float* left = stack[stack.size() - 2].second;
    kernels::add(pool, left, stack.back().second, left, end - begin);
    stack.pop_back();
  };
  std::size_t own = 0;
  for (const Received& other : others_) {
    float* values = other.rank == ranks_.rank() ? slots_[own++].sum.f32() + begin_of(ranks_.rank()) + begin
                                                : received_.f32() + other.offset + begin;
    stack.emplace_back(other.node, values);
    while (stack.size() > 1 && are_siblings(stack[stack.size() - 2].first, stack.back().first)) {
      sum_last();
      stack.back().first = parent_of(stack.back().first);
    }
  }
  while (stack.size() > 1) sum_last();
  return stack.front().second;
}

void GradientSum::combine(ThreadPool& pool) {
  const int here = ranks_.rank();
  distributed::Exchange exchange(ranks_);
  post(exchange);
  for (int rank = 0; rank < ranks_.size() && !sharded_; ++rank)
    for (std::int64_t from = begin_of(rank); rank != here && from < end_of(rank); from += kBucket)
      exchange.receive(rank, bytes_of(total_.f32() + from, std::min(kBucket, end_of(rank) - from)));
  const std::int64_t part = end_of(here) - begin_of(here);
  float* own = total_.f32() + (sharded_ ? 0 : begin_of(here));
  for (std::int64_t begin = 0; begin < part; begin += kBucket) {
    const auto bucket = static_cast<std::size_t>(begin / kBucket);
    const std::int64_t end = std::min(begin + kBucket, part);
    exchange.wait(bucket == 0 ? 0 : arrived_[bucket - 1], arrived_[bucket]);
    std::memcpy(own + begin, sum_of_bucket(pool, begin, end),
                static_cast<std::size_t>(end - begin) * sizeof(float));
    for (int rank = 0; rank < ranks_.size() && !sharded_; ++rank)
      if (rank != here) exchange.send(rank, bytes_of(own + begin, end - begin));
  }
  exchange.wait_all();
}

}  // namespace regard::train
