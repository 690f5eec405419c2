// Words and their ids, kept for words that come again. Bounded; it forgets freely and never answers wrongly,
// since whole words are compared. One thread at a time.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace regard::text {

// Ids being collected. Room is made ahead, so that writing one needs no check.
class IdBuffer {
 public:
  // Room for `count` more; what is written there counts after advance().
  std::int32_t* room(std::size_t count) {
    if (size_ + count > capacity_) grow(count);
    return ids_.get() + size_;
  }
  void advance(std::size_t count) noexcept { size_ += count; }
  void push(std::int32_t id) {
    *room(1) = id;
    ++size_;
  }
  void append(std::span<const std::int32_t> ids) {
    if (!ids.empty()) std::memcpy(room(ids.size()), ids.data(), ids.size_bytes());
    size_ += ids.size();
  }
  void clear() noexcept { size_ = 0; }
  std::span<const std::int32_t> ids() const noexcept { return {ids_.get(), size_}; }

 private:
  void grow(std::size_t count);
  std::unique_ptr<std::int32_t[]> ids_;
  std::size_t size_ = 0, capacity_ = 0;
};

class WordCache {
 public:
  static constexpr std::size_t kShort = 16;     // bytes of a word that its slot holds whole
  static constexpr std::size_t kLongest = 192;  // longer words are not kept
  static constexpr std::size_t kInline = 3;     // ids that a slot holds
  static constexpr std::size_t kMostIds = 128;  // with more, a word is not kept

  WordCache();

  // A word of at most kShort bytes, zeros after them.
  struct Key {
    std::uint64_t low = 0, high = 0;
  };
  static Key key_of(std::string_view word) noexcept {
    Key key;
    std::memcpy(&key, word.data(), word.size());
    return key;
  }

  // The same where kShort bytes from `word` on may be read.
  static Key key_at(const char* word, std::size_t size) noexcept {
    Key key;
    std::memcpy(&key, word, sizeof key);
    const auto kept = [](std::size_t bytes) {
      return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
    };
    key.low &= kept(size);
    key.high &= size > 8 ? kept(size - 8) : 0;
    return key;
  }

  static std::uint64_t hash_of(Key key, std::size_t size) noexcept {
    const auto product = static_cast<unsigned __int128>(key.low ^ 0x9E3779B97F4A7C15u) *
                         (key.high ^ 0xD1B54A32D192ED03u ^ size);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t hash_of(std::string_view word) noexcept {
    return word.size() <= kShort ? hash_of(key_of(word), word.size()) : XXH3_64bits(word.data(), word.size());
  }
  // Brings near what find() with this hash will look at.
  void prefetch(std::uint64_t hash, bool is_short) const noexcept {
    if (is_short) __builtin_prefetch(&slots_[2 * (hash & (kSets - 1))]);
    __builtin_prefetch(&long_slots_[long_set(hash)]);
  }

  // Appends the ids of a word and returns true, or false if it is not kept. `size` > 0.
  bool find_short(Key key, std::size_t size, std::uint64_t hash, IdBuffer& ids) const {
    const Slot* const set = &slots_[2 * (hash & (kSets - 1))];
    std::int32_t* const room = ids.room(kInline + 1);
    for (const Slot* slot = set; slot < set + 2; ++slot) {
      if (slot->key.low != key.low || slot->key.high != key.high || slot->size != size) continue;
      std::memcpy(room, slot->ids, sizeof slot->ids);
      ids.advance(slot->count);
      return true;
    }
    return false;
  }
  bool find_long(std::string_view word, std::uint64_t hash, IdBuffer& ids) const;

  void keep(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids);

 private:
  struct alignas(32) Slot {
    Key key;
    std::int32_t ids[kInline] = {};
    std::uint16_t size = 0;  // of the word; 0: free
    std::uint16_t count = 0;
  };
  // Of a long word, or one with many ids: where in the store its bytes and then its ids lie.
  struct LongSlot {
    std::uint64_t hash = 0;
    std::uint32_t begin = 0;
    std::uint16_t size = 0, count = 0;
  };
  static constexpr std::size_t kSets = std::size_t{1} << 15, kLongSlots = std::size_t{1} << 16;
  static constexpr std::size_t kStoreBytes = std::size_t{6} << 20;
  static constexpr std::size_t kWays = 4;  // of long slots

  // Other bits than the short words' sets.
  static std::size_t long_set(std::uint64_t hash) noexcept {
    return (hash >> 20 & (kLongSlots / kWays - 1)) * kWays;
  }
  void keep_long(std::string_view word, std::uint64_t hash, std::span<const std::int32_t> ids);

  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  // Zeroed by the system as they are touched.
  std::unique_ptr<Slot[], Free> slots_;
  std::unique_ptr<LongSlot[], Free> long_slots_;
  std::vector<char> store_;
};

}  // namespace regard::text
