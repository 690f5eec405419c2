// Map from tokens to ids and from ids to tokens. Ids may have gaps.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::text {

struct TokenView {
  std::string_view token;
  std::int32_t id = 0;
};

class Vocabulary {
 public:
  static constexpr std::int32_t kMaxId = 1 << 26;  // maximum id; limited, because gaps between ids use memory

  void reserve(std::size_t tokens);
  // If a token is added again, its last id is used, as in the reference implementation. If an id is added
  // again, both tokens can be looked up, and token() returns the last one. Throws usage for an id outside [0,
  // kMaxId].
  void add(std::string_view token, std::int32_t id);
  // Call add() for each token in order; faster than single calls.
  void add_all(std::span<const TokenView> tokens);

  std::optional<std::int32_t> find(std::string_view token) const noexcept {
    const std::int32_t id = find_id(token);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  // Return the id of a token, or -1 if there is none.
  std::int32_t find_id(std::string_view token) const noexcept {
    if (slots_.empty()) return -1;
    const std::uint32_t hash = hash_of(token);
    if (!may_hold(hash)) return -1;
    for (std::size_t place = hash & (slots_.size() - 1);; place = (place + 1) & (slots_.size() - 1)) {
      const Slot slot = slots_[place];
      if (slot.entry == kHole) return -1;
      if (slot.hash == hash && text_of(entries_[slot.entry]) == token) return entries_[slot.entry].id;
    }
  }
  // Store the result of find_id() for each token in `ids`, which must have the same size as `tokens`. Faster
  // than single calls, because memory is prefetched.
  void find_all(std::span<const std::string_view> tokens, std::span<std::int32_t> ids) const noexcept;
  // Return the same id as find_id(). This is faster if the id is `guess`.
  std::int32_t find_near(std::string_view token, std::int32_t guess) const noexcept {
    if (guess >= 0 && guess < end_id()) {
      const std::uint32_t entry = by_id_[static_cast<std::size_t>(guess)];
      if (entry != kHole && entries_[entry].id == guess && text_of(entries_[entry]) == token) return guess;
    }
    return find_id(token);
  }
  // Call use(token, id) for every token that can be looked up.
  template <class Use>
  void for_each(Use use) const {
    for (const Entry& entry : entries_) use(text_of(entry), entry.id);
  }
  // Return the token of an id; nullopt for a gap or an id beyond the end.
  std::optional<std::string_view> token(std::int32_t id) const noexcept;
  std::size_t size() const noexcept { return entries_.size(); }  // number of distinct tokens
  // the largest id + 1
  std::int32_t end_id() const noexcept { return static_cast<std::int32_t>(by_id_.size()); }

 private:
  static constexpr std::uint32_t kHole = ~std::uint32_t{0};
  struct Slot {
    std::uint32_t hash = 0, entry = kHole;
  };
  struct Entry {
    std::uint32_t begin = 0, size = 0;  // range in bytes_
    std::int32_t id = 0;
  };

  static std::uint32_t hash_of(std::string_view token) noexcept {
    const char* const bytes = token.data();
    const std::size_t size = token.size();
    std::uint64_t low = 0, high = 0;
    if (size > 16) return static_cast<std::uint32_t>(XXH3_64bits(bytes, size));
    if (size >= 8) {
      std::memcpy(&low, bytes, 8);
      std::memcpy(&high, bytes + size - 8, 8);
    } else if (size >= 4) {
      std::memcpy(&low, bytes, 4);
      std::memcpy(&high, bytes + size - 4, 4);
    } else if (size > 0) {
      const auto byte = [&](std::size_t i) {
        return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i]));
      };
      low = byte(0) | byte(size / 2) << 8 | byte(size - 1) << 16;
    }
    const auto product =
        static_cast<unsigned __int128>(low ^ 0x9E3779B97F4A7C15u) * (high ^ 0xD1B54A32D192ED03u ^ size);
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(product) ^
                                      static_cast<std::uint64_t>(product >> 64));
  }
  std::string_view text_of(const Entry& entry) const noexcept {
    return {bytes_.data() + entry.begin, entry.size};
  }
  void grow(std::size_t slots);
  void add(std::string_view token, std::int32_t id, std::uint32_t hash);
  // Return false only if no token has this hash. Most look-ups are for missing tokens, and this test ends
  // most of them before they read slots_.
  bool may_hold(std::uint32_t hash) const noexcept {
    const std::uint32_t bit = hash >> filter_shift_;
    return (filter_[bit / 64] >> (bit % 64) & 1u) != 0;
  }
  void note(std::uint32_t hash) noexcept {
    const std::uint32_t bit = hash >> filter_shift_;
    filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }

  std::string bytes_;
  std::vector<Slot> slots_;
  // bits that may_hold() tests; four bits for each element of slots_
  std::vector<std::uint64_t> filter_;
  int filter_shift_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> by_id_;  // index into entries_ for each id, or kHole
};

}  // namespace regard::text
