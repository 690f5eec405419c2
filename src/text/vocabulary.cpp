#include "text/vocabulary.h"

#include <bit>

#include "base/hash.h"
#include "regard/error.h"

namespace regard::text {
namespace {

std::uint32_t hash_of(std::string_view token) noexcept {
  return static_cast<std::uint32_t>(xxh3(token));
}

}  // namespace

void Vocabulary::reserve(std::size_t tokens) {
  grow(std::bit_ceil(tokens * 2 + 16));
}

void Vocabulary::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t place = slot.hash & (slots_.size() - 1);
    while (slots_[place].id >= 0) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

std::size_t Vocabulary::place_of(std::string_view token, std::uint32_t hash) const noexcept {
  std::size_t place = hash & (slots_.size() - 1);
  while (slots_[place].id >= 0) {
    const Slot& slot = slots_[place];
    if (slot.hash == hash && std::string_view(bytes_).substr(slot.begin, slot.size) == token) break;
    place = (place + 1) & (slots_.size() - 1);
  }
  return place;
}

void Vocabulary::add(std::string_view token, std::int32_t id) {
  if (id < 0 || id > kMaxId)
    throw usage_error("a token's id is out of range")
        .found(std::to_string(id))
        .expected("0 to " + std::to_string(kMaxId));
  if (used_ * 2 >= slots_.size()) grow(std::max<std::size_t>(64, slots_.size() * 2));
  const std::uint32_t hash = hash_of(token);
  Slot& slot = slots_[place_of(token, hash)];
  if (slot.id < 0) {
    slot = {hash, id, static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(token.size())};
    bytes_.append(token);
    ++used_;
  } else {
    slot.id = id;
  }
  if (static_cast<std::size_t>(id) >= by_id_.size()) by_id_.resize(static_cast<std::size_t>(id) + 1);
  by_id_[static_cast<std::size_t>(id)] = {slot.begin, slot.size};
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const noexcept {
  if (slots_.empty()) return std::nullopt;
  const Slot& slot = slots_[place_of(token, hash_of(token))];
  if (slot.id < 0) return std::nullopt;
  return slot.id;
}

std::optional<std::string_view> Vocabulary::token(std::int32_t id) const noexcept {
  if (id < 0 || id >= end_id()) return std::nullopt;
  const Entry& entry = by_id_[static_cast<std::size_t>(id)];
  if (entry.size == kHole) return std::nullopt;
  return std::string_view(bytes_).substr(entry.begin, entry.size);
}

}  // namespace regard::text
