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
  if (id < 0 || id > kMaxId)
    throw usage_error("a token's id is out of range")
        .found(std::to_string(id))
        .expected("0 to " + std::to_string(kMaxId));
  if (entries_.size() * 2 >= slots_.size()) grow(std::max<std::size_t>(64, slots_.size() * 2));
  const std::uint32_t hash = hash_of(token);
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
