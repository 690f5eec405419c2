#include "nn/cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "regard/error.h"

namespace regard {
namespace {

// Attention walks keys in blocks; whole blocks may be read, so they exist and are zero.
constexpr std::int64_t kKeyBlock = 128;

std::int64_t whole_blocks(std::int64_t rows) {
  return (rows + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
}

}  // namespace

Cache::Cache(const CacheShape& shape, std::int64_t slots, std::int64_t capacity)
    : shape_(shape), capacity_(whole_blocks(std::max<std::int64_t>(capacity, 1))) {
  if (slots < 1) throw usage_error("a cache needs at least one slot");
  const auto count = static_cast<std::size_t>(slots);
  slots_.resize(count), reordered_.resize(count);
  self_.resize(count), cross_.resize(shape.cross ? count : 0);
  selected_.reserve(count), free_.reserve(count);
  taken_.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    slots_[s].self = static_cast<std::int32_t>(s);
    selected_.push_back(slots_[s].self);
    grow(self_[s], capacity_);
  }
}

const Cache::Slot& Cache::at(std::int64_t slot) const {
  if (slot < 0 || slot >= slot_count())
    throw usage_error("cache: there is no slot " + std::to_string(slot))
        .expected("0 to " + std::to_string(slot_count() - 1));
  return slots_[static_cast<std::size_t>(slot)];
}

std::int64_t Cache::length(std::int64_t slot) const {
  return self_[static_cast<std::size_t>(at(slot).self)].length;
}

void Cache::select(std::span<const std::int32_t> slots) {
  std::fill(taken_.begin(), taken_.end(), std::uint8_t{0});
  for (const std::int32_t slot : slots) {
    at(slot);
    if (taken_[static_cast<std::size_t>(slot)]++ != 0)
      throw usage_error("cache: slot " + std::to_string(slot) + " is selected twice");
  }
  selected_.assign(slots.begin(), slots.end());
}

// The rows of all layers, one layer after the other: its keys, then its values.
float* Cache::row(const Block& block, std::int64_t layer, bool value) const {
  const std::int64_t width = shape_.key_width + shape_.value_width;
  return block.memory.get() + layer * block.rows * width + (value ? block.rows * shape_.key_width : 0);
}

void Cache::grow(Block& block, std::int64_t rows) const {
  if (rows <= block.rows) return;
  Block larger;
  larger.rows = whole_blocks(rows);
  const auto floats =
      static_cast<std::size_t>(larger.rows * (shape_.key_width + shape_.value_width) * shape_.layers);
  larger.memory = {static_cast<float*>(std::calloc(std::max<std::size_t>(floats, 1), sizeof(float))),
                   std::free};
  if (larger.memory == nullptr) throw std::bad_alloc();
  larger.users = block.users;
  copy(block, larger);
  block = std::move(larger);
}

// `to` becomes `from`; it has room, and its rows beyond are zero afterwards.
void Cache::copy(const Block& from, Block& to) const {
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer)
    for (const bool value : {false, true}) {
      const std::int64_t width = value ? shape_.value_width : shape_.key_width;
      float* target = row(to, layer, value);
      const auto used = static_cast<std::size_t>(from.length * width);
      if (used > 0) std::memcpy(target, row(from, layer, value), used * sizeof(float));
      if (to.length > from.length)
        std::fill_n(target + used, static_cast<std::size_t>((to.length - from.length) * width), 0.0f);
    }
  to.length = from.length;
}

void Cache::wipe(Block& block) const {
  Block nothing;
  copy(nothing, block);
}

void Cache::drop_cross(Slot& slot) {
  if (slot.cross >= 0) --cross_[static_cast<std::size_t>(slot.cross)].users;
  slot.cross = -1;
  slot.cross_new = false;
}

void Cache::clear(std::int64_t slot) {
  at(slot);
  Slot& cleared = slots_[static_cast<std::size_t>(slot)];
  wipe(self_[static_cast<std::size_t>(cleared.self)]);
  drop_cross(cleared);
}

void Cache::clear() {
  for (std::int64_t slot = 0; slot < slot_count(); ++slot) clear(slot);
}

void Cache::reorder(std::span<const std::int32_t> from) {
  if (from.size() > slots_.size()) throw usage_error("cache: more slots are reordered than there are");
  for (const std::int32_t source : from)
    if (source != -1) at(source);
  // The first slot that takes a sequence takes its rows as they lie; further ones get copies, in rows that
  // nobody kept.
  std::fill(taken_.begin(), taken_.end(), std::uint8_t{0});
  const auto source_of = [&](std::size_t s) { return s < from.size() ? from[s] : -1; };
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    reordered_[s] = Slot{};
    const std::int32_t source = source_of(s);
    if (source < 0) continue;
    const Slot& old = slots_[static_cast<std::size_t>(source)];
    reordered_[s].cross = old.cross;
    if (old.cross >= 0) ++cross_[static_cast<std::size_t>(old.cross)].users;
    if (taken_[static_cast<std::size_t>(source)]++ == 0) reordered_[s].self = old.self;
  }
  free_.clear();
  for (std::size_t s = 0; s < slots_.size(); ++s)
    if (taken_[s] == 0) free_.push_back(slots_[s].self);
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (reordered_[s].self >= 0) continue;
    reordered_[s].self = free_.back();
    free_.pop_back();
    Block& block = self_[static_cast<std::size_t>(reordered_[s].self)];
    if (const std::int32_t source = source_of(s); source >= 0)
      copy(self_[static_cast<std::size_t>(slots_[static_cast<std::size_t>(source)].self)], block);
    else
      wipe(block);
  }
  for (Slot& slot : slots_) drop_cross(slot);
  std::swap(slots_, reordered_);
}

void Cache::reserve(std::int64_t capacity) {
  capacity_ = std::max(capacity_, whole_blocks(capacity));
  for (Block& block : self_) grow(block, capacity_);
}

void Cache::check_room(std::int64_t slot, std::int64_t tokens) const {
  if (length(slot) + tokens <= capacity_) return;
  throw usage_error("cache: slot " + std::to_string(slot) + " has no room for " + std::to_string(tokens) +
                    " tokens more")
      .found(std::to_string(length(slot)) + " tokens of " + std::to_string(capacity_))
      .remedy("Make the cache larger, or reserve() before");
}

float* Cache::key(std::int64_t layer, std::int64_t slot) {
  return row(self_[static_cast<std::size_t>(at(slot).self)], layer, false);
}

float* Cache::value(std::int64_t layer, std::int64_t slot) {
  return row(self_[static_cast<std::size_t>(at(slot).self)], layer, true);
}

void Cache::advance(std::int64_t slot, std::int64_t tokens) {
  at(slot);
  Slot& advanced = slots_[static_cast<std::size_t>(slot)];
  self_[static_cast<std::size_t>(advanced.self)].length += tokens;
  advanced.cross_new = false;
}

bool Cache::has_cross(std::int64_t slot) const {
  return at(slot).cross >= 0 && !at(slot).cross_new;
}

bool Cache::cross_is_new(std::int64_t slot) const {
  return at(slot).cross_new;
}

void Cache::start_cross(std::int64_t slot, std::int64_t keys) {
  at(slot);
  Slot& started = slots_[static_cast<std::size_t>(slot)];
  drop_cross(started);
  const auto unused =
      std::find_if(cross_.begin(), cross_.end(), [](const Block& block) { return block.users == 0; });
  if (unused == cross_.end()) throw usage_error("cache: its shape has no cross-attention");
  wipe(*unused);
  grow(*unused, keys);
  unused->length = keys;
  unused->users = 1;
  started.cross = static_cast<std::int32_t>(unused - cross_.begin());
  started.cross_new = true;
}

std::int64_t Cache::cross_length(std::int64_t slot) const {
  const std::int32_t block = at(slot).cross;
  return block < 0 ? 0 : cross_[static_cast<std::size_t>(block)].length;
}

float* Cache::cross_key(std::int64_t layer, std::int64_t slot) {
  return row(cross_[static_cast<std::size_t>(at(slot).cross)], layer, false);
}

float* Cache::cross_value(std::int64_t layer, std::int64_t slot) {
  return row(cross_[static_cast<std::size_t>(at(slot).cross)], layer, true);
}

}  // namespace regard
