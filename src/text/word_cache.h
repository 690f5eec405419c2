// Bounded cache from words to ids: entries may be evicted, and a look-up compares the whole word. Not
// thread-safe.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "text/id_buffer.h"

namespace regard::text {

class WordCache {
 public:
  static constexpr std::size_t kShort = 15;     // maximum size in bytes of a word that is stored in its slot
  static constexpr std::size_t kLongest = 192;  // maximum size in bytes of a cached word
  static constexpr std::size_t kInline = 3;     // maximum number of ids that are stored in the slot
  static constexpr std::size_t kMostIds = 128;  // maximum number of ids of a cached word

  static constexpr std::size_t kLeastSets = std::size_t{1} << 9;
  static constexpr std::size_t kMostSets = std::size_t{1} << 19;

  // The capacity is about 2 · most_sets short words; most_sets must be a power of two, at least kLeastSets.
  // An empty cache uses little memory; its size grows with the number of words.
  explicit WordCache(std::size_t most_sets = kMostSets);

  // A word of at most kShort bytes, padded with zeros, with its size in the last byte.
  struct Key {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  static Key key_of(std::string_view word) noexcept {
    Key key;
    std::memcpy(&key, word.data(), word.size());
    key.high |= std::uint64_t{word.size()} << 56;
    return key;
  }

  // Return the same key as key_of(), but faster. kShort + 1 bytes starting at `word` must be readable.
  static Key key_at(const char* word, std::size_t size) noexcept {
    Key key;
    std::memcpy(&key, word, sizeof key);
    const auto kept = [](std::size_t bytes) {
      return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
    };
    key.low &= kept(size);
    key.high = (key.high & (size > 8 ? kept(size - 8) : 0)) | std::uint64_t{size} << 56;
    return key;
  }

  static std::uint64_t hash_of(Key key) noexcept {
    const auto product =
        static_cast<unsigned __int128>(key.low ^ 0x9E3779B97F4A7C15u) * (key.high ^ 0xD1B54A32D192ED03u);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t hash_of_long(std::string_view word) noexcept {
    return XXH3_64bits(word.data(), word.size());
  }
  // Prefetch the slots that look_up() with this hash reads first.
  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&slots_[2 * (hash & last_set_)]); }
  void prefetch_long(std::uint64_t hash) const noexcept { __builtin_prefetch(&long_slots_[long_set(hash)]); }

  // Location of a word's ids; null if the word is not cached. If the word is longer than kShort, its bytes
  // precede the ids. Valid until changes() returns another number.
  struct Kept {
    const char* at = nullptr;
    std::uint32_t count = 0;
  };
  // Find a word; its ids are prefetched if they are in the store.
  Kept look_up(Key key, std::uint64_t hash) const noexcept {
    const Slot* slot = &slots_[2 * (hash & last_set_)];
    if (slot->key != key && (++slot)->key != key) {
      slot = &slots_[2 * other_set(hash)];
      if (slot->key != key && (++slot)->key != key) return {};
    }
    if (slot->count <= kInline) return {reinterpret_cast<const char*>(slot->ids), slot->count};
    return near(static_cast<std::uint32_t>(slot->ids[0]), slot->count);
  }
  Kept look_up_long(std::size_t size, std::uint64_t hash) const noexcept {
    const LongSlot* const set = &long_slots_[long_set(hash)];
    for (const LongSlot* slot = set; slot < set + kWays; ++slot)
      if (slot->hash == hash && slot->size == size) return near(slot->begin, slot->count);
    return {};
  }
  std::uint64_t changes() const noexcept { return changes_; }

  // Append the ids of the word and return true. Returns false if the word is not cached.
  static bool take(const Kept& kept, std::string_view word, IdBuffer& ids) {
    if (kept.at == nullptr) return false;
    if (kept.count <= kInline && word.size() <= kShort) {
      std::memcpy(ids.reserve(kInline + 1), kept.at, (kInline + 1) * sizeof(std::int32_t));
      ids.advance(kept.count);
      return true;
    }
    const char* from = kept.at;
    if (word.size() > kShort) {
      if (std::memcmp(from, word.data(), word.size()) != 0) return false;
      from += word.size();
    }
    std::int32_t* const to = ids.reserve(kept.count + kBlock);
    for (std::size_t i = 0; i < kept.count; i += kBlock)
      std::memcpy(to + i, from + i * sizeof(std::int32_t), kBlock * sizeof(std::int32_t));
    ids.advance(kept.count);
    return true;
  }
  bool find(std::string_view word, IdBuffer& ids) const {
    if (word.size() > kLongest) return false;
    if (word.size() > kShort) return take(look_up_long(word.size(), hash_of_long(word)), word, ids);
    const Key key = key_of(word);
    return take(look_up(key, hash_of(key)), word, ids);
  }

  void keep(std::string_view word, std::span<const std::int32_t> ids);

 private:
  static constexpr std::size_t kBlock = 8;  // number of ids that are copied at once

  // A slot for a short word. If `count` is more than kInline, the ids are in the store, and ids[0] is their
  // offset there.
  struct alignas(32) Slot {
    Key key;  // a key of size 0 marks a free slot
    std::int32_t ids[kInline] = {};
    std::uint32_t count = 0;
  };
  // A slot for a long word. `begin` is the offset of the word's bytes in the store; the ids follow these
  // bytes.
  struct LongSlot {
    std::uint64_t hash = 0;
    std::uint32_t begin = 0;
    std::uint16_t size = 0, count = 0;
  };
  static constexpr std::size_t kLongSlots = std::size_t{1} << 18;
  static constexpr std::size_t kStoreBytes = std::size_t{24} << 20;
  static constexpr std::size_t kWays = 4;  // number of slots for long words per set

  static std::size_t long_set(std::uint64_t hash) noexcept {
    return (hash & (kLongSlots / kWays - 1)) * kWays;
  }
  Kept near(std::uint32_t begin, std::uint32_t count) const noexcept {
    const char* const at = store_.get() + begin;
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
    return {at, count};
  }
  // Return the second set in which a short word may be stored if the first one is full.
  std::size_t other_set(std::uint64_t hash) const noexcept { return (hash >> 32) & last_set_; }
  Slot* free_slot(std::size_t set) noexcept;  // returns null if the set is full
  void place(const Slot& slot) noexcept;
  void grow();
  void make_room(std::size_t bytes);
  // append bytes to the store and return their offset
  std::uint32_t put(const void* bytes, std::size_t size);
  void keep_long(std::string_view word, std::span<const std::int32_t> ids);

  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::size_t most_sets_;
  std::unique_ptr<Slot[], Free> slots_;  // slots for short words; each set consists of two slots
  std::uint64_t last_set_ = 0;           // index of the last set; the number of sets is a power of two
  std::size_t kept_ = 0;                 // number of short words added so far, including evicted ones
  std::unique_ptr<LongSlot[], Free> long_slots_;
  // The end of the store is padded, because reads in blocks may extend beyond the used part.
  std::unique_ptr<char[], Free> store_;
  std::size_t stored_ = 0;  // number of bytes used in the store
  std::uint64_t changes_ = 0;
};

}  // namespace regard::text
