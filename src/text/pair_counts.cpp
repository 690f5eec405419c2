#include "text/pair_counts.h"

#include <algorithm>
#include <bit>

namespace regard::text {

std::size_t PairCounts::place_of(std::uint64_t key) const noexcept {
  // Fibonacci hashing. The key is folded first, so that both ids affect the high bits.
  const std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
  std::size_t place = static_cast<std::size_t>((mixed ^ mixed << 21) >> shift_);
  while (slots_[place].key != key && slots_[place].key != kFree) place = (place + 1) & (slots_.size() - 1);
  return place;
}

void PairCounts::grow() {
  // Drop entries with count zero. The table grows only if this frees too few slots.
  const auto kept = static_cast<std::size_t>(std::count_if(
      slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.key != kFree && slot.count != 0; }));
  std::vector<Slot> old(std::max<std::size_t>(1024, std::bit_ceil(kept * 2)));
  old.swap(slots_);
  shift_ = 64 - std::countr_zero(slots_.size());
  used_ = kept;
  for (const Slot& slot : old)
    if (slot.key != kFree && slot.count != 0) slots_[place_of(slot.key)] = slot;
}

std::int64_t PairCounts::of(std::int32_t left, std::int32_t right) const noexcept {
  return slots_.empty() ? 0 : slots_[place_of(key(left, right))].count;
}

std::int64_t PairCounts::add(std::int32_t left, std::int32_t right, std::int64_t change) {
  if (used_ * 4 >= slots_.size() * 3) grow();
  Slot& slot = slots_[place_of(key(left, right))];
  if (slot.key == kFree) {
    slot.key = key(left, right);
    ++used_;
  }
  return slot.count += change;
}

}  // namespace regard::text
