#include "text/vocabulary.h"

#include <algorithm>
#include <bit>

#include "regard/error.h"

namespace regard::text {

void Vocabulary::reserve(std::size_t tokens) {
  grow(std::bit_ceil(tokens * 2 + 16));
  entries_.reserve(tokens);
  by_id_.reserve(tokens);
}

void Vocabulary::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  filter_.assign(slots / 16, 0);
  filter_shift_ = std::max(0, std::countl_zero(static_cast<std::uint32_t>(slots)) - 1);
  for (const Slot& slot : old) {
    if (slot.entry == kHole) continue;
    std::size_t place = slot.hash & (slots_.size() - 1);
    while (slots_[place].entry != kHole) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
    note(slot.hash);
  }
}

void Vocabulary::add(std::string_view token, std::int32_t id) {
  add(token, id, hash_of(token));
}

void Vocabulary::add_all(std::span<const TokenView> tokens) {
  constexpr std::size_t kAhead = 16;
  reserve(entries_.size() + tokens.size());
  std::uint32_t hashes[kAhead];
  for (std::size_t i = 0; i < tokens.size() + kAhead; ++i) {
    std::uint32_t& hash = hashes[i % kAhead];
    if (i >= kAhead) add(tokens[i - kAhead].token, tokens[i - kAhead].id, hash);
    if (i >= tokens.size()) continue;
    hash = hash_of(tokens[i].token);
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)], 1);
    __builtin_prefetch(&filter_[(hash >> filter_shift_) / 64], 1);
  }
}

void Vocabulary::find_all(std::span<const std::string_view> tokens,
                          std::span<std::int32_t> ids) const noexcept {
  constexpr std::size_t kTogether = 64;
  struct Sought {
    std::uint32_t hash, entry;
  } sought[kTogether];
  for (std::size_t first = 0; first < tokens.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, tokens.size() - first);
    if (slots_.empty()) {
      std::fill_n(ids.begin() + static_cast<std::ptrdiff_t>(first), count, -1);
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      sought[i].hash = hash_of(tokens[first + i]);
      __builtin_prefetch(&slots_[sought[i].hash & (slots_.size() - 1)]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t place = sought[i].hash & (slots_.size() - 1);
      while (slots_[place].entry != kHole && slots_[place].hash != sought[i].hash)
        place = (place + 1) & (slots_.size() - 1);
      sought[i].entry = slots_[place].entry;
      if (sought[i].entry != kHole) __builtin_prefetch(&entries_[sought[i].entry]);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (sought[i].entry != kHole) __builtin_prefetch(text_of(entries_[sought[i].entry]).data());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view token = tokens[first + i];
      const bool missing = sought[i].entry == kHole;
      const bool same = !missing && text_of(entries_[sought[i].entry]) == token;
      // If a different token has the same hash, do a full look-up.
      ids[first + i] = missing ? -1 : same ? entries_[sought[i].entry].id : find_id(token);
    }
  }
}

void Vocabulary::add(std::string_view token, std::int32_t id, std::uint32_t hash) {
  if (id < 0 || id > kMaxId)
    throw usage_error("a token's id is out of range")
        .found(std::to_string(id))
        .expected("an id from 0 to " + std::to_string(kMaxId));
  if (entries_.size() * 2 >= slots_.size()) grow(std::max<std::size_t>(64, slots_.size() * 2));
  std::size_t place = hash & (slots_.size() - 1);
  const auto taken_by_another = [&](const Slot& slot) {
    return slot.entry != kHole && (slot.hash != hash || text_of(entries_[slot.entry]) != token);
  };
  while (taken_by_another(slots_[place])) place = (place + 1) & (slots_.size() - 1);
  Slot& slot = slots_[place];
  if (slot.entry == kHole) {
    slot = {hash, static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back(
        {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(token.size()), id});
    bytes_.append(token);
    note(hash);
  } else {
    entries_[slot.entry].id = id;
  }
  if (static_cast<std::size_t>(id) >= by_id_.size()) by_id_.resize(static_cast<std::size_t>(id) + 1, kHole);
  by_id_[static_cast<std::size_t>(id)] = slot.entry;
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const noexcept {
  if (id < 0 || id >= end_id() || by_id_[static_cast<std::size_t>(id)] == kHole) return std::nullopt;
  return text_of(entries_[by_id_[static_cast<std::size_t>(id)]]);
}

}  // namespace regard::text
