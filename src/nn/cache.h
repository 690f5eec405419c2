// Cache: the keys and values that decoding has computed so far, for all layers and a fixed number of slots. A
// slot holds one sequence being decoded; a scheduler or a search decides which sequence sits where.
//
// Network::decode with a cache appends sequence s of its batch to slot slots()[s] and attends to all of that
// slot, so the same tokens give the same bits whether they come at once or one by one. Rows that nothing was
// written to are zero.
//
// Cross-attention: at the first call for a slot the keys and values are computed from `memory`, once; later
// calls take them from here. Slots that reorder() made from one slot share them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "regard/tensor.h"

namespace regard {

// What a model needs to keep for each token.
struct CacheShape {
  std::int64_t layers = 0;
  std::int64_t key_width = 0, value_width = 0;  // floats a token and layer: kv_heads × head_dim
  bool cross = false;                           // the decoder attends to an encoder's output
  std::int64_t max_positions = 0;               // 0: no limit
};

class Cache {
 public:
  // Keys and values are unused rows of a slot's `capacity` tokens; capacity is rounded up to whole key
  // blocks.
  Cache(const CacheShape& shape, std::int64_t slots, std::int64_t capacity);

  std::int64_t slot_count() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t length(std::int64_t slot) const;  // tokens that the slot holds

  // Which slots the sequences of the next decode() are appended to, one each, no slot twice. Holds until the
  // next select(). Throws usage: no such slot, or named twice. Allocates nothing once it has seen the most.
  void select(std::span<const std::int32_t> slots);
  std::span<const std::int32_t> slots() const { return selected_; }

  void clear(std::int64_t slot);  // forgets one sequence, its cross-attention too
  void clear();                   // all of them

  // Slot s takes what slot from[s] held, for s < from.size(): how a beam search follows its hypotheses. Slots
  // from from.size() on are cleared where they were copied from nowhere; entries −1 clear a slot.
  void reorder(std::span<const std::int32_t> from);

  // Makes room for at least `capacity` tokens in each slot, keeping what is there.
  void reserve(std::int64_t capacity);

  // --- for the decoder's layers ---

  // Throws usage where `tokens` more do not fit into the slot.
  void check_room(std::int64_t slot, std::int64_t tokens) const;
  float* key(std::int64_t layer, std::int64_t slot);     // row 0: [capacity, key_width]
  float* value(std::int64_t layer, std::int64_t slot);   // row 0: [capacity, value_width]
  void advance(std::int64_t slot, std::int64_t tokens);  // after the last layer

  bool has_cross(std::int64_t slot) const;  // complete
  // Makes room for a source of `keys` tokens; the slot's cross-attention is new, and incomplete, until
  // advance().
  void start_cross(std::int64_t slot, std::int64_t keys);
  bool cross_is_new(std::int64_t slot) const;
  std::int64_t cross_length(std::int64_t slot) const;
  float* cross_key(std::int64_t layer, std::int64_t slot);    // [cross_length, key_width]
  float* cross_value(std::int64_t layer, std::int64_t slot);  // [cross_length, value_width]

  const CacheShape& shape() const { return shape_; }

 private:
  // One sequence's rows, all layers: [layers][key rows, then value rows]. Grown with calloc, so that pages
  // that nothing was written to cost nothing.
  struct Block {
    std::unique_ptr<float, void (*)(void*)> memory{nullptr, nullptr};
    std::int64_t rows = 0;    // that fit
    std::int64_t length = 0;  // that are used
    std::int64_t users = 0;   // slots that share it (cross-attention only)
  };
  struct Slot {
    std::int32_t self = -1;   // index into self_
    std::int32_t cross = -1;  // index into cross_, −1: none yet
    bool cross_new = false;
  };
  void grow(Block& block, std::int64_t rows) const;
  void copy(const Block& from, Block& to) const;
  void wipe(Block& block) const;
  void drop_cross(Slot& slot);
  float* row(const Block& block, std::int64_t layer, bool value) const;
  const Slot& at(std::int64_t slot) const;

  CacheShape shape_;
  std::int64_t capacity_ = 0;
  std::vector<Slot> slots_, reordered_;
  std::vector<Block> self_, cross_;
  std::vector<std::int32_t> selected_, free_;
  std::vector<std::uint8_t> taken_;
};

}  // namespace regard
