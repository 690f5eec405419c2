#include "text/word_cache.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace regard::text {
namespace {

// `bytes` of zeros at a multiple of 64.
void* zeroed_lines(std::size_t bytes) {
  void* const memory = std::aligned_alloc(64, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace

void IdBuffer::grow(std::size_t count) {
  const std::size_t capacity = std::max(size_ + count, capacity_ + capacity_ / 2 + 1024);
  auto ids = std::make_unique_for_overwrite<std::int32_t[]>(capacity);
  if (size_ > 0) std::memcpy(ids.get(), ids_.get(), size_ * sizeof(std::int32_t));
  ids_ = std::move(ids);
  capacity_ = capacity;
}

WordCache::WordCache()
    : slots_(static_cast<Slot*>(zeroed_lines(2 * kSets * sizeof(Slot)))),
      long_slots_(static_cast<LongSlot*>(zeroed_lines(kLongSlots * sizeof(LongSlot)))) {}

bool WordCache::find_long(std::string_view word, std::uint64_t hash, IdBuffer& ids) const {
  if (word.size() > kLongest) return false;
  const LongSlot* const set = &long_slots_[long_set(hash)];
  for (const LongSlot* slot = set; slot < set + kWays; ++slot) {
    if (slot->hash != hash || slot->size != word.size()) continue;
    const char* const kept = store_.data() + slot->begin;
    if (std::memcmp(kept, word.data(), word.size()) != 0) continue;
    std::memcpy(ids.room(slot->count), kept + word.size(), slot->count * sizeof(std::int32_t));
    ids.advance(slot->count);
    return true;
  }
  return false;
}

void WordCache::keep(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) {
  if (word.size() > kShort || ids.size() > kInline) {
    if (word.size() <= kLongest && ids.size() <= kMostIds) keep_long(word, hash, ids);
    return;
  }
  Slot fresh;
  fresh.key = key_of(word);
  std::copy(ids.begin(), ids.end(), fresh.ids);
  fresh.size = static_cast<std::uint16_t>(word.size());
  fresh.count = static_cast<std::uint16_t>(ids.size());
  Slot* const set = &slots_[2 * (hash & (kSets - 1))];
  set[1] = set[0];
  set[0] = fresh;
}

void WordCache::keep_long(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids) {
  if (store_.size() + word.size() + ids.size_bytes() > kStoreBytes) {  // full: begin anew
    store_.clear();
    std::fill_n(long_slots_.get(), kLongSlots, LongSlot{});
  }
  LongSlot* const set = &long_slots_[long_set(hash)];
  std::copy_backward(set, set + kWays - 1, set + kWays);
  set[0] = {hash, static_cast<std::uint32_t>(store_.size()), static_cast<std::uint16_t>(word.size()),
            static_cast<std::uint16_t>(ids.size())};
  store_.insert(store_.end(), word.begin(), word.end());
  const auto* const bytes = reinterpret_cast<const char*>(ids.data());
  store_.insert(store_.end(), bytes, bytes + ids.size_bytes());
}

}  // namespace regard::text
