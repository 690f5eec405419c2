#include "train/gradient_sum.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/rows.h"

namespace regard::train {
GradientSum::GradientSum(std::span<Parameter* const> parameters, std::int64_t leaves,
                         distributed::Ranks& ranks, std::span<const std::size_t> shards,
                         std::int64_t bucket_elements)
    : ranks_(ranks) {
  if (leaves < 2 && ranks.alone()) return;
  for (Parameter* parameter : parameters) {
    if (!parameter->trainable()) continue;
    parameters_.push_back(parameter);
    offsets_.push_back(offsets_.back() + parameter->gradient().elements());
  }
  const std::int64_t each = leaves / ranks.size();
  assert(each * ranks.size() == leaves);
  first_leaf_ = next_leaf_ = ranks.rank() * each;
  slots_.resize(most_nodes(first_leaf_, first_leaf_ + each));
  for (Slot& slot : slots_) slot.sum = Tensor::zeros({offsets_.back()});
  if (ranks.alone()) return;
  exchange_ =
      std::make_unique<GradientExchange>(ranks, GradientExchange::Layout{.elements = offsets_.back(),
                                                                         .leaves = leaves,
                                                                         .bucket_elements = bucket_elements,
                                                                         .shards = cuts(parameters, shards)});
}

// Return the index of the first element of each shard, then the total number of elements. Return an empty
// list if there are no shards.
std::vector<std::int64_t> GradientSum::cuts(std::span<Parameter* const> parameters,
                                            std::span<const std::size_t> shards) const {
  std::vector<std::int64_t> cuts;
  std::size_t next = 0;
  std::int64_t before = 0;
  for (const std::size_t bound : shards) {
    for (; next < bound; ++next)
      if (parameters[next]->trainable()) before += parameters[next]->gradient().elements();
    cuts.push_back(before);
  }
  return cuts;
}

// Push the next leaf onto the stack slots_, and replace each pair of siblings on it with their parent. Return
// the leaf's index in slots_.
std::size_t GradientSum::begin_leaf() {
  assert(depth_ < slots_.size() && "more micro-batches than announced");
  leaf_slot_ = depth_++;
  slots_[leaf_slot_].node = {0, next_leaf_++};
  for (; depth_ > 1 && are_siblings(slots_[depth_ - 2].node, slots_[depth_ - 1].node); --depth_)
    slots_[depth_ - 2].node = parent_of(slots_[depth_ - 1].node);
  return leaf_slot_;
}

// Copy a range of the gradients to the sum of the last leaf, and compute the additions that the leaf
// completes.
void GradientSum::add_range(ThreadPool& pool, std::int64_t begin, std::int64_t end) {
  copy_gradients(slots_[leaf_slot_].sum.f32() + begin, begin, end);
  for (std::size_t right = leaf_slot_; right + 1 > depth_; --right) {
    float* left = slots_[right - 1].sum.f32() + begin;
    kernels::add(pool, left, slots_[right].sum.f32() + begin, left, end - begin);
  }
}

void GradientSum::copy_gradients(float* to, std::int64_t begin, std::int64_t end) const {
  auto i = static_cast<std::size_t>(std::upper_bound(offsets_.begin(), offsets_.end(), begin) -
                                    offsets_.begin() - 1);
  for (; begin < end; ++i) {
    const std::int64_t count = std::min(end, offsets_[i + 1]) - begin;
    std::memcpy(to, parameters_[i]->gradient().f32() + (begin - offsets_[i]),
                static_cast<std::size_t>(count) * sizeof(float));
    to += count;
    begin += count;
  }
}

void GradientSum::add(ThreadPool& pool) {
  begin_leaf();
  add_range(pool, 0, offsets_.back());
  for (Parameter* parameter : parameters_) parameter->clear_gradient();
}

void GradientSum::begin_last() {
  begin_leaf();
  in_last_ = true;
  final_ = parameters_.size();
}

std::vector<float*> GradientSum::sums() const {
  std::vector<float*> all;
  for (std::size_t i = 0; i < depth_; ++i) all.push_back(slots_[i].sum.f32());
  return all;
}

void GradientSum::post_next(ThreadPool& pool) {
  const std::int64_t bucket = exchange_->posted();
  if (in_last_) add_range(pool, exchange_->begin_of(bucket), exchange_->end_of(bucket));
  exchange_->post(sums());
}

void GradientSum::progress(ThreadPool& pool, const std::function<bool(const Parameter&)>& is_final) {
  if (!in_last_ || !exchange_) return;
  while (final_ > 0 && is_final(*parameters_[final_ - 1])) --final_;
  while (exchange_->posted() < exchange_->buckets() &&
         exchange_->begin_of(exchange_->posted()) >= offsets_[final_])
    post_next(pool);
  exchange_->progress(pool);
}

void GradientSum::finish(ThreadPool& pool) {
  if (depth_ == 0) return;
  if (exchange_) {
    while (exchange_->posted() < exchange_->buckets()) post_next(pool);
    exchange_->finish(pool);
    write_gradients(exchange_->total(), exchange_->first());
    in_last_ = false;
  } else {
    for (; depth_ > 1; --depth_) {
      float* left = slots_[depth_ - 2].sum.f32();
      kernels::add(pool, left, slots_[depth_ - 1].sum.f32(), left, offsets_.back());
    }
    write_gradients(slots_[0].sum, 0);
  }
  discard();
}

// Write sums to the gradients of the parameters. `sums` starts with element `first` of the whole gradient;
// parameters that are not in `sums` are skipped.
void GradientSum::write_gradients(const Tensor& sums, std::int64_t first) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (offsets_[i] < first || offsets_[i + 1] > first + sums.elements()) continue;
    const Tensor& gradient = parameters_[i]->gradient();
    std::memcpy(gradient.data(), sums.f32() + (offsets_[i] - first), gradient.bytes());
  }
}

}  // namespace regard::train
