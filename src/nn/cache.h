// Cache: the keys and values that decoding has computed so far, for all layers and a fixed number of slots. A
// slot holds one sequence being decoded; a scheduler or a search decides which sequence sits where.
//
// The rows of a sequence lie in pages of kPageTokens tokens (Kwon et al. 2023), all layers of those tokens in
// one page. Sequences that have a past in common share its pages; who writes into a shared page gets a copy
// of it first. Pages that every layer's sliding window has passed are given back.
//
// Network::decode with a cache appends sequence s of its batch to slot slots()[s] and attends to all of that
// slot, so the same tokens give the same bits whether they come at once or one by one, and whoever else uses
// their pages.
//
// Cross-attention: at the first call for a slot the keys and values are computed from `memory`, once; later
// calls take them from here. They lie in pages of the same pool.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "nn/page_pool.h"
#include "ops/attention.h"

namespace regard {

// What a model needs to keep for each token.
struct CacheShape {
  std::int64_t layers = 0;
  std::int64_t key_width = 0, value_width = 0;  // floats a token and layer: kv_heads × head_dim
  bool cross = false;                           // the decoder attends to an encoder's output
  std::int64_t max_positions = 0;               // 0: no limit
  std::int64_t window = 0;  // > 0: no layer lets a token see more than the last `window`, itself counted

  std::int64_t page_bytes() const;  // of one page: kPageTokens tokens, all layers
};

constexpr std::int64_t kPageTokens = 32;

// How many pages so many tokens lie in.
constexpr std::int64_t pages_for(std::int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

class Cache {
 public:
  // Room for `capacity` tokens in each slot, rounded up to pages; grows with reserve() and with sources.
  Cache(const CacheShape& shape, std::int64_t slots, std::int64_t capacity);
  // All slots together have `pages` pages, and never more: what they hold is the caller's to plan.
  static Cache bounded(const CacheShape& shape, std::int64_t slots, std::int64_t pages);

  std::int64_t slot_count() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int64_t capacity() const { return capacity_; }  // of a slot, in tokens
  std::int64_t length(std::int64_t slot) const;        // tokens that the slot has been given

  // Which slots the sequences of the next decode() are appended to, one each, no slot twice. Holds until the
  // next select(). Throws usage: no such slot, or named twice. Allocates nothing once it has seen the most.
  void select(std::span<const std::int32_t> slots);
  std::span<const std::int32_t> slots() const { return selected_; }

  void clear(std::int64_t slot);  // forgets one sequence, its cross-attention too
  void clear();                   // all of them

  // Slot s takes what slot from[s] held, for s < from.size(): how a beam search follows its hypotheses. Slots
  // from from.size() on are cleared; entries −1 clear a slot. Copies of a slot share its pages.
  void reorder(std::span<const std::int32_t> from);

  // The empty slot `to` begins with the first `tokens` of slot `from`, and its cross-attention. Throws usage:
  // `to` is not empty, `from` has not so many, or has given some of them back.
  void share_prefix(std::int64_t from, std::int64_t to, std::int64_t tokens);

  // Makes room for at least `capacity` tokens in each slot, keeping what is there. A bounded cache only says
  // whether they fit.
  void reserve(std::int64_t capacity);

  std::int64_t pages() const { return pool_.size(); }
  std::int64_t free_pages() const { return pool_.free(); }
  std::int64_t bytes() const;                           // of all pages
  std::int64_t held_pages(std::int64_t slot) const;     // shared ones counted, cross-attention too
  bool writes_to_shared_page(std::int64_t slot) const;  // its next token needs a copy of a page

  // --- for the decoder's layers ---

  // The slot's next `tokens` get pages of their own. Throws usage where they do not fit.
  void make_room(std::int64_t slot, std::int64_t tokens);
  // Rows of keys and values behind what the slot holds, of one layer. Several threads may write to several
  // slots at once.
  struct Rows {
    const float *key = nullptr, *value = nullptr;  // row 0
    std::int64_t key_stride = 0, value_stride = 0;
    std::int64_t count = 0;
  };
  void append(std::int64_t layer, std::int64_t slot, const Rows& rows);
  ops::CachedKeys keys(std::int64_t layer, std::int64_t slot, std::int64_t count) const;  // first `count`
  void advance(std::int64_t slot, std::int64_t tokens);  // after the last layer

  bool has_cross(std::int64_t slot) const;  // complete
  // Makes room for a source of `keys` tokens; the slot's cross-attention is new, and incomplete, until
  // advance(). Throws usage where they do not fit.
  void start_cross(std::int64_t slot, std::int64_t keys);
  bool cross_is_new(std::int64_t slot) const;
  std::int64_t cross_length(std::int64_t slot) const;
  void set_cross(std::int64_t layer, std::int64_t slot, const Rows& rows);
  ops::CachedKeys cross_keys(std::int64_t layer, std::int64_t slot) const;

  const CacheShape& shape() const { return shape_; }

 private:
  // Where a sequence's rows are: page p holds rows from p × kPageTokens on.
  struct Table {
    std::vector<const float*> at;     // null: given back
    std::vector<std::int32_t> pages;  // −1: given back
    std::int64_t length = 0;          // rows
    std::int64_t kept_from = 0;       // pages before it are given back
  };
  struct Slot {
    Table self, cross;
    bool has_cross = false, cross_new = false;
  };
  Cache(const CacheShape& shape, std::int64_t slots);
  void reserve_tables(std::int64_t tokens);
  void reserve_cross_tables(std::int64_t tokens);
  void add_pages(Table& table, std::int64_t rows);
  void own_last_page(Table& table);
  void share(const Table& from, Table& to, std::int64_t rows);
  void release(Table& table);
  void release(Slot& slot);
  void write(const Table& table, std::int64_t layer, std::int64_t first, const Rows& rows);
  ops::CachedKeys view(const Table& table, std::int64_t layer, std::int64_t count) const;
  std::int64_t layer_floats() const { return kPageTokens * (shape_.key_width + shape_.value_width); }
  const Slot& at(std::int64_t slot) const;
  Slot& at(std::int64_t slot) { return const_cast<Slot&>(std::as_const(*this).at(slot)); }

  CacheShape shape_;
  bool bounded_ = false;
  std::int64_t capacity_ = 0;
  PagePool pool_;  // a page: [layers] of keys [kPageTokens, key_width], values [kPageTokens, value_width]
  std::vector<Slot> slots_, reordered_;
  std::vector<std::int32_t> selected_;
  std::vector<std::uint8_t> taken_;
};

}  // namespace regard
