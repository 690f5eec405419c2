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
  for (const Slot& slot : old)
    if (slot.key != kFree) slots_[place_of(slot.key)] = slot;
}

std::size_t MergeTable::place_of(std::uint64_t key) const noexcept {
  const int shift = std::countl_zero(slots_.size()) + 1;  // keeps the product's top bits
  std::size_t place = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift);
  while (slots_[place].key != kFree && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
  return place;
}

void MergeTable::add(std::int32_t left, std::int32_t right, Merge merge) {
  if (used_ * 2 >= slots_.size()) grow(std::max<std::size_t>(64, slots_.size() * 2));
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  Slot& slot = slots_[place_of(key)];
  if (slot.key == kFree) ++used_;
  slot = {key, merge};
}

Merge MergeTable::find(std::int32_t left, std::int32_t right) const noexcept {
  if (slots_.empty()) return {};
  return slots_[place_of(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right))].merge;
}

}  // namespace regard::text
