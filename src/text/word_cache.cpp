#include "text/word_cache.h"

#include <algorithm>

#include "base/pages.h"

namespace regard::text {
namespace {

// Return memory filled with zeros. A large block is allocated in large pages, because accesses are random.
void* zeroed(std::size_t bytes) {
  return std::memset(allocate_pages(bytes), 0, bytes);
}

}  // namespace

WordCache::WordCache(std::size_t most_sets)
    : most_sets_(most_sets),
      slots_(static_cast<Slot*>(zeroed(2 * kLeastSets * sizeof(Slot)))),
      last_set_(kLeastSets - 1),
      long_slots_(static_cast<LongSlot*>(std::calloc(kLongSlots, sizeof(LongSlot)))) {
  if (!long_slots_) throw std::bad_alloc();
}

void WordCache::keep(std::string_view word, std::span<const std::int32_t> ids) {
  if (word.size() > kLongest || ids.size() > kMostIds) return;
  ++changes_;
  if (word.size() > kShort) return keep_long(word, ids);
  Slot fresh;
  fresh.key = key_of(word);
  fresh.count = static_cast<std::uint32_t>(ids.size());
  if (ids.size() <= kInline) {
    std::copy(ids.begin(), ids.end(), fresh.ids);
  } else {
    make_room(ids.size_bytes());
    fresh.ids[0] = static_cast<std::int32_t>(put(ids.data(), ids.size_bytes()));
  }
  place(fresh);
  if (++kept_ > last_set_ && last_set_ + 1 < most_sets_) grow();
}

WordCache::Slot* WordCache::free_slot(std::size_t set) noexcept {
  for (Slot* at = &slots_[2 * set]; at < &slots_[2 * set] + 2; ++at)
    if (at->key.high == 0) return at;
  return nullptr;
}

// If both possible sets of the new entry are full, move one of their entries to its other set. If that is not
// possible, evict the older entry of the first set.
void WordCache::place(const Slot& slot) noexcept {
  const std::uint64_t hash = hash_of(slot.key);
  const std::array<std::size_t, 2> sets = {hash & last_set_, other_set(hash)};
  for (const std::size_t set : sets)
    if (Slot* const at = free_slot(set)) {
      *at = slot;
      return;
    }
  for (const std::size_t set : sets)
    for (Slot* at = &slots_[2 * set]; at < &slots_[2 * set] + 2; ++at) {
      const std::uint64_t theirs = hash_of(at->key);
      const std::size_t own = theirs & last_set_;
      if (Slot* const to = free_slot(own == set ? other_set(theirs) : own)) {
        *to = *at;
        *at = slot;
        return;
      }
    }
  Slot* const own = &slots_[2 * sets[0]];
  own[0] = own[1];
  own[1] = slot;
}

void WordCache::grow() {
  const std::size_t sets = last_set_ + 1, more = std::min(4 * sets, most_sets_);
  std::unique_ptr<Slot[], Free> old(static_cast<Slot*>(zeroed(2 * more * sizeof(Slot))));
  old.swap(slots_);
  last_set_ = more - 1;
  for (std::size_t i = 2 * sets; i-- > 0;)
    if (old[i].key.high != 0) place(old[i]);
  kept_ = sets;
}

// Allocate the store on first use. Clear the cache if the store has no room for `bytes` more bytes.
void WordCache::make_room(std::size_t bytes) {
  if (!store_) {  // pages that are never written use no memory
    constexpr std::size_t kReadBeyond = 192, kSmallPages = std::size_t{2} << 20;
    store_.reset(static_cast<char*>(allocate_pages(kStoreBytes + kReadBeyond, kSmallPages)));
  }
  if (stored_ + bytes <= kStoreBytes) return;
  stored_ = 0;
  std::fill_n(slots_.get(), 2 * (last_set_ + 1), Slot{});
  std::fill_n(long_slots_.get(), kLongSlots, LongSlot{});
}

std::uint32_t WordCache::put(const void* bytes, std::size_t size) {
  const auto begin = static_cast<std::uint32_t>(stored_);
  if (size > 0)
    std::memcpy(store_.get() + stored_, bytes,
                size);  // memcpy with a null pointer is undefined behaviour, even for size 0
  stored_ += size;
  return begin;
}

void WordCache::keep_long(std::string_view word, std::span<const std::int32_t> ids) {
  make_room(word.size() + ids.size_bytes());
  const std::uint64_t hash = hash_of_long(word);
  LongSlot* const set = &long_slots_[long_set(hash)];
  std::copy_backward(set, set + kWays - 1, set + kWays);
  set[0] = {hash, put(word.data(), word.size()), static_cast<std::uint16_t>(word.size()),
            static_cast<std::uint16_t>(ids.size())};
  put(ids.data(), ids.size_bytes());
}

}  // namespace regard::text
