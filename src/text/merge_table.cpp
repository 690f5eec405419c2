#include <bit>

#include "text/bpe.h"

namespace regard::text {

void MergeTable::reserve(std::size_t merges) {
  grow(std::bit_ceil(merges * 2 + 16));
}

void MergeTable::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  shift_ = std::countl_zero(slots) + 1;
  for (const Slot& slot : old)
    if (slot.key != kFree) slots_[place_of(slot.key)] = slot;
}

void MergeTable::add(std::int32_t left, std::int32_t right, Merge merge) {
  if (used_ * 2 >= slots_.size()) grow(std::max<std::size_t>(64, slots_.size() * 2));
  const std::uint64_t key = key_of(left, right);
  Slot& slot = slots_[place_of(key)];
  if (slot.key == kFree) ++used_;
  slot = {key, merge};
}

}  // namespace regard::text
