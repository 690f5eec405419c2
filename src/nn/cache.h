// Key/value cache of decoding for all layers and a fixed number of slots. A slot contains one sequence. The
// caller (a scheduler or a search) assigns sequences to slots.
//
// A sequence is stored in pages of kPageTokens tokens (Kwon et al. 2023). A page contains all layers of its
// tokens. Sequences with a common prefix share the prefix's pages, with copy on write. Pages that are outside
// the sliding windows of all layers are released.
//
// Network::decode() with a cache appends sequence s of its batch to slot slots()[s] and attends to all tokens
// of the slot. Results are bit-identical whether tokens are decoded in one call or one by one, and whether or
// not pages are shared.
//
// In bf16 the rows are rounded when they are written (CacheShape::precision).
//
// Cross-attention: the first call for a slot computes the keys and values from `memory`. Later calls read
// them from the cache. They are stored in pages of the same pool.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "kernels/precision.h"
#include "nn/page_pool.h"
#include "ops/attention.h"

namespace regard::nn {

// Sizes and number format that determine the layout of a model's cache.
struct CacheShape {
  std::int64_t layers = 0;
  std::int64_t key_width = 0, value_width = 0;  // numbers per token and layer, of all heads
  bool cross = false;                           // true if the decoder attends to an encoder's output
  std::int64_t max_positions = 0;               // maximum number of positions; 0 means no limit
  // Sliding window: in every layer, a token attends to itself and to at most `window` − 1 preceding tokens.
  // 0 means no window.
  std::int64_t window = 0;
  // bf16: keys and values are rounded and packed for products (kernels/bf16_pages.h).
  kernels::Precision precision = kernels::Precision::f32;
  std::int64_t kv_heads = 1;  // number of key/value heads, of equal width

  std::int64_t key_floats() const;    // size of a layer's keys in a page, in floats
  std::int64_t value_floats() const;  // size of a layer's values in a page, in floats
  std::int64_t page_bytes() const;    // bytes of one page: kPageTokens tokens, all layers
};

constexpr std::int64_t kPageTokens = 32;

// Return the number of pages that `tokens` tokens occupy.
constexpr std::int64_t pages_for(std::int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

class Cache {
 public:
  // Create a cache for `capacity` tokens per slot, rounded up to pages. reserve() increases the capacity;
  // pages for cross-attention and copies of shared pages are added when needed. Throws usage if slots < 1.
  Cache(const CacheShape& shape, std::int64_t slots, std::int64_t capacity);
  // Create a cache with a fixed total of `pages` pages for all slots. A call that requires more pages throws
  // resource_exhausted.
  static Cache bounded(const CacheShape& shape, std::int64_t slots, std::int64_t pages);

  std::int64_t slot_count() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int64_t capacity() const { return capacity_; }  // capacity of a slot in tokens
  std::int64_t length(std::int64_t slot) const;        // tokens appended to the slot so far

  // Set the slots to which decode() appends the sequences of its batch, one slot per sequence, without
  // allocating memory. Throws usage if a slot does not exist or is given twice.
  void select(std::span<const std::int32_t> slots);
  std::span<const std::int32_t> slots() const { return selected_; }  // default: all slots

  void clear(std::int64_t slot);  // discard the slot's sequence and its cross-attention
  void clear();                   // clear all slots

  // Copy the content of slot from[s] to slot s for all s < from.size(), sharing the pages; used by beam
  // search. Slots s with from[s] = −1 or s ≥ from.size() are cleared.
  void reorder(std::span<const std::int32_t> from);

  // Share the first `tokens` tokens of slot `from`, and its cross-attention, with the empty slot `to`. Throws
  // usage if `to` is not empty, or if `from` has fewer tokens or has released pages.
  void share_prefix(std::int64_t from, std::int64_t to, std::int64_t tokens);

  // Grow to at least `capacity` tokens per slot, keeping the content. A bounded cache cannot grow; it throws
  // resource_exhausted if `capacity` is above capacity().
  void reserve(std::int64_t capacity);

  // Make the memory of all pages resident now instead of at the first use of each page. The cache must be
  // empty.
  void make_resident() { pool_.make_resident(); }

  std::int64_t pages() const { return pool_.size(); }
  std::int64_t free_pages() const { return pool_.free(); }
  std::int64_t bytes() const;  // bytes of all pages
  // Return the number of pages for the tokens of the slot, shared pages included. The pages for
  // cross-attention, which hold keys and values of the source, are not counted.
  std::int64_t held_pages(std::int64_t slot) const;
  // true if a page must be copied before the slot's next token is written
  bool writes_to_shared_page(std::int64_t slot) const;

  // The following functions are for the decoder's layers.

  // Reserve unshared pages for the slot's next `tokens` tokens. Throws resource_exhausted if they do not fit.
  void make_room(std::int64_t slot, std::int64_t tokens);
  // Keys and values of consecutive tokens in one layer.
  struct Rows {
    const float *key = nullptr, *value = nullptr;  // row 0
    std::int64_t key_stride = 0, value_stride = 0;
    std::int64_t count = 0;
  };
  // Write rows after the slot's current length. make_room() must have been called; only advance() changes the
  // length. Different threads may append to different slots concurrently.
  void append(std::int64_t layer, std::int64_t slot, const Rows& rows);
  // keys and values of the slot's first `count` tokens
  ops::CachedKeys keys(std::int64_t layer, std::int64_t slot, std::int64_t count) const;
  // increase the slot's length by `tokens`; call after the last layer has appended its rows
  void advance(std::int64_t slot, std::int64_t tokens);

  // true if the slot has complete keys and values for cross-attention
  bool has_cross(std::int64_t slot) const;
  // Reserve pages for the cross-attention to a source of `keys` tokens, replacing the previous source. The
  // new keys and values are incomplete (cross_is_new()) until advance(). Throws resource_exhausted if there
  // are too few free pages, and usage if the shape has no cross-attention.
  void start_cross(std::int64_t slot, std::int64_t keys);
  bool cross_is_new(std::int64_t slot) const;
  std::int64_t cross_length(std::int64_t slot) const;
  void set_cross(std::int64_t layer, std::int64_t slot, const Rows& rows);
  ops::CachedKeys cross_keys(std::int64_t layer, std::int64_t slot) const;

  const CacheShape& shape() const { return shape_; }

 private:
  // Page table of a sequence. Page p holds the rows from p × kPageTokens to (p + 1) × kPageTokens − 1.
  struct Table {
    std::vector<const float*> at;     // address of each page; null if the page is released
    std::vector<std::int32_t> pages;  // number of each page in the pool; −1 if the page is released
    std::int64_t length = 0;          // rows
    std::int64_t kept_from = 0;       // index of the first page that is not released
    bool stale_tail = false;          // bf16: the last page may contain rows of another sequence
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
  void copy_page(const float* from, float* to, std::int64_t rows) const;
  void clear_values(float* page, std::int64_t first) const;
  void write(const Table& table, std::int64_t layer, std::int64_t first, const Rows& rows);
  ops::CachedKeys view(const Table& table, std::int64_t layer, std::int64_t count) const;
  std::int64_t layer_floats() const { return shape_.key_floats() + shape_.value_floats(); }
  std::size_t index_of(std::int64_t slot) const;
  const Slot& at(std::int64_t slot) const;
  Slot& at(std::int64_t slot);

  CacheShape shape_;
  bool bounded_ = false;
  std::int64_t capacity_ = 0;
  // Pool of pages. For each layer, a page has keys [kv_heads, kPageTokens, head_dim] and values [kv_heads,
  // kPageTokens, value_dim] in f32, or the keys and values of a page of kernels/bf16_pages.h. The rows of a
  // head are contiguous, because attention reads them one after the other.
  PagePool pool_;
  std::vector<Slot> slots_, reordered_;
  std::vector<std::int32_t> selected_;
  std::vector<std::uint8_t> taken_;
};

}  // namespace regard::nn
