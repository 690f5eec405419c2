#include "nn/cache.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/counted.h"
#include "kernels/bf16_pages.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

constexpr std::int64_t kEndless = std::int64_t{1} << 40;  // capacity in tokens of a cache without a limit

static_assert(kPageTokens == kernels::kBf16PageRows);

bool is_bf16(const CacheShape& shape) {
  return shape.precision == kernels::Precision::bf16;
}

kernels::Bf16PageShape bf16_shape(const CacheShape& shape) {
  return {shape.kv_heads, shape.key_width / shape.kv_heads, shape.value_width / shape.kv_heads};
}

std::int64_t page_floats(const CacheShape& shape) {
  return shape.layers * (shape.key_floats() + shape.value_floats());
}

// Copy rows [rows, heads × width], with row stride `stride`, to the page part `to` [heads, kPageTokens,
// width], from its row `first`.
void write_rows(const float* from, std::int64_t stride, float* to, std::int64_t heads, std::int64_t width,
                std::int64_t first, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t head = 0; head < heads; ++head)
      std::memcpy(to + (head * kPageTokens + first + r) * width, from + r * stride + head * width,
                  static_cast<std::size_t>(width) * sizeof(float));
}

}  // namespace

std::int64_t CacheShape::key_floats() const {
  return is_bf16(*this) ? bf16_shape(*this).key_floats() : kPageTokens * key_width;
}

std::int64_t CacheShape::value_floats() const {
  return is_bf16(*this) ? bf16_shape(*this).value_floats() : kPageTokens * value_width;
}

std::int64_t CacheShape::page_bytes() const {
  return page_floats(*this) * static_cast<std::int64_t>(sizeof(float));
}

Cache::Cache(const CacheShape& shape, std::int64_t slots) : shape_(shape), pool_(page_floats(shape)) {
  if (slots < 1)
    throw usage_error("a cache has too few slots").found(std::to_string(slots)).expected("at least 1 slot");
  if (shape.kv_heads < 1 || shape.key_width % shape.kv_heads != 0 || shape.value_width % shape.kv_heads != 0)
    throw usage_error("the number of key/value heads of a cache does not divide the width of its rows")
        .found(counted(shape.kv_heads, "head"));
  const auto count = static_cast<std::size_t>(slots);
  slots_.resize(count), reordered_.resize(count), taken_.resize(count);
  selected_.reserve(count);
  for (std::size_t s = 0; s < count; ++s) selected_.push_back(static_cast<std::int32_t>(s));
}

Cache::Cache(const CacheShape& shape, std::int64_t slots, std::int64_t capacity) : Cache(shape, slots) {
  reserve(std::max<std::int64_t>(capacity, 1));
}

Cache Cache::bounded(const CacheShape& shape, std::int64_t slots, std::int64_t pages) {
  if (pages < 1)
    throw usage_error("a cache has too few pages").found(std::to_string(pages)).expected("at least 1 page");
  Cache cache(shape, slots);
  cache.pool_.grow(pages);
  cache.bounded_ = true;
  // With a sliding window, pages are released, so a sequence may have more tokens than all pages together.
  cache.capacity_ = shape.window > 0 ? kEndless : pages * kPageTokens;
  cache.reserve_tables(shape.window > 0 && shape.max_positions > 0 ? shape.max_positions
                                                                   : pages * kPageTokens);
  return cache;
}

void Cache::reserve_tables(std::int64_t tokens) {
  if (shape_.max_positions > 0) tokens = std::min(tokens, shape_.max_positions);
  const auto pages = static_cast<std::size_t>(pages_for(tokens));
  for (std::vector<Slot>* slots : {&slots_, &reordered_})
    for (Slot& slot : *slots) slot.self.at.reserve(pages), slot.self.pages.reserve(pages);
}

// Reserve the page tables for cross-attention of all slots, because any slot may share the pages of another.
void Cache::reserve_cross_tables(std::int64_t tokens) {
  const auto pages = static_cast<std::size_t>(pages_for(tokens));
  if (pages <= slots_[0].cross.pages.capacity()) return;
  for (std::vector<Slot>* slots : {&slots_, &reordered_})
    for (Slot& slot : *slots) slot.cross.at.reserve(pages), slot.cross.pages.reserve(pages);
}

std::size_t Cache::index_of(std::int64_t slot) const {
  if (slot < 0 || slot >= slot_count())
    throw usage_error("the cache has no slot " + std::to_string(slot))
        .expected("slots 0 to " + std::to_string(slot_count() - 1));
  return static_cast<std::size_t>(slot);
}

const Cache::Slot& Cache::at(std::int64_t slot) const {
  return slots_[index_of(slot)];
}

Cache::Slot& Cache::at(std::int64_t slot) {
  return slots_[index_of(slot)];
}

std::int64_t Cache::length(std::int64_t slot) const {
  return at(slot).self.length;
}

void Cache::select(std::span<const std::int32_t> slots) {
  std::fill(taken_.begin(), taken_.end(), std::uint8_t{0});
  for (const std::int32_t slot : slots) {
    at(slot);
    if (taken_[static_cast<std::size_t>(slot)]++ != 0)
      throw usage_error("cache: slot " + std::to_string(slot) + " is selected twice")
          .expected("each slot at most once");
  }
  selected_.assign(slots.begin(), slots.end());
}

// Add pages until the table can store `rows` rows. If a bounded cache has too few free pages, throw and
// add none.
void Cache::add_pages(Table& table, std::int64_t rows) {
  const std::int64_t more = pages_for(rows) - std::ssize(table.pages);
  if (more > pool_.free()) {
    if (bounded_)
      throw resource_error("the cache has too few free pages")
          .found(std::to_string(pool_.free()) + " of " + std::to_string(pool_.size()) + " pages free")
          .expected("at least " + std::to_string(more) + " free pages")
          .remedy("Increase the number of cache pages, or admit fewer sequences");
    pool_.grow(pool_.size() + more - pool_.free());
  }
  for (std::int64_t i = 0; i < more; ++i) {
    const std::int32_t page = pool_.take();
    table.pages.push_back(page);
    table.at.push_back(pool_.at(page));
  }
}

// Copy the first `rows` rows of a page; in bf16, the whole page.
void Cache::copy_page(const float* from, float* to, std::int64_t rows) const {
  if (is_bf16(shape_)) {
    std::memcpy(to, from, static_cast<std::size_t>(page_floats(shape_)) * sizeof(float));
    return;
  }
  const auto copy = [&](std::int64_t width) {
    std::memcpy(to, from, static_cast<std::size_t>(rows * width) * sizeof(float));
    from += kPageTokens * width, to += kPageTokens * width;
  };
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer) {
    for (std::int64_t head = 0; head < shape_.kv_heads; ++head) copy(shape_.key_width / shape_.kv_heads);
    for (std::int64_t head = 0; head < shape_.kv_heads; ++head) copy(shape_.value_width / shape_.kv_heads);
  }
}

// bf16: set the values of row `first` and of all following rows of a page to zero. Attention multiplies them
// by weights of 0, which requires finite values.
void Cache::clear_values(float* page, std::int64_t first) const {
  for (std::int64_t layer = 0; layer < shape_.layers; ++layer)
    kernels::clear_bf16_values(bf16_shape(shape_), page + layer * layer_floats() + shape_.key_floats(),
                               first);
}

// Make the last page writable; call this before a write. If the last page is partly full and shared, replace
// it with a copy.
void Cache::own_last_page(Table& table) {
  const std::int64_t used = table.length % kPageTokens;
  const auto last = static_cast<std::size_t>(table.length / kPageTokens);
  if (used == 0) {
    table.stale_tail = false;
    return;
  }
  if (pool_.users(table.pages[last]) == 1) {
    if (std::exchange(table.stale_tail, false)) clear_values(pool_.at(table.pages[last]), used);
    return;
  }
  const float* from = table.at[last];
  if (pool_.free() == 0) {
    if (bounded_)
      throw resource_error("the cache has no free pages").remedy("Increase the number of cache pages");
    pool_.grow(pool_.size() + 1);
  }
  const std::int32_t page = pool_.take();
  float* to = pool_.at(page);
  copy_page(from, to, used);
  if (std::exchange(table.stale_tail, false)) clear_values(to, used);
  pool_.release(table.pages[last]);
  table.pages[last] = page, table.at[last] = to;
}

// Share the pages of the first `rows` rows of `from` with the empty table `to`.
void Cache::share(const Table& from, Table& to, std::int64_t rows) {
  const auto pages = static_cast<std::ptrdiff_t>(pages_for(rows));
  to.at.assign(from.at.begin(), from.at.begin() + pages);
  to.pages.assign(from.pages.begin(), from.pages.begin() + pages);
  to.length = rows, to.kept_from = from.kept_from;
  to.stale_tail = is_bf16(shape_) && (from.stale_tail || rows < from.length);
  for (const std::int32_t page : to.pages)
    if (page >= 0) pool_.share(page);
}

void Cache::release(Table& table) {
  for (const std::int32_t page : table.pages)
    if (page >= 0) pool_.release(page);
  table.at.clear(), table.pages.clear();
  table.length = table.kept_from = 0;
  table.stale_tail = false;
}

void Cache::release(Slot& slot) {
  release(slot.self);
  release(slot.cross);
  slot.has_cross = slot.cross_new = false;
}

void Cache::write(const Table& table, std::int64_t layer, std::int64_t first, const Rows& rows) {
  for (std::int64_t done = 0; done < rows.count;) {
    const std::int64_t row = first + done, within = row % kPageTokens;
    const std::int64_t count = std::min(rows.count - done, kPageTokens - within);
    float* keys = pool_.at(table.pages[static_cast<std::size_t>(row / kPageTokens)]) + layer * layer_floats();
    float* values = keys + shape_.key_floats();
    const float *key = rows.key + done * rows.key_stride, *value = rows.value + done * rows.value_stride;
    if (is_bf16(shape_)) {
      kernels::write_bf16_page(bf16_shape(shape_), keys, values, within,
                               {key, value, rows.key_stride, rows.value_stride, count});
    } else {
      const std::int64_t heads = shape_.kv_heads;
      write_rows(key, rows.key_stride, keys, heads, shape_.key_width / heads, within, count);
      write_rows(value, rows.value_stride, values, heads, shape_.value_width / heads, within, count);
    }
    done += count;
  }
}

ops::CachedKeys Cache::view(const Table& table, std::int64_t layer, std::int64_t count) const {
  const std::int64_t keys = layer * layer_floats();
  return {count, {table.at.data(), kPageTokens, keys, keys + shape_.key_floats(), is_bf16(shape_)}};
}

void Cache::clear(std::int64_t slot) {
  release(at(slot));
}

void Cache::clear() {
  for (Slot& slot : slots_) release(slot);
}

void Cache::reorder(std::span<const std::int32_t> from) {
  if (from.size() > slots_.size())
    throw usage_error("the new order has more entries than the cache has slots")
        .found(counted(from.size(), "entry", "entries"))
        .expected("at most " + std::to_string(slots_.size()) + " entries");
  for (const std::int32_t source : from)
    if (source != -1) at(source);
  const auto source_of = [&](std::size_t s) { return s < from.size() ? from[s] : -1; };
  const auto stays = [&](std::size_t s) { return source_of(s) == static_cast<std::int32_t>(s); };
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const std::int32_t source = source_of(s);
    if (stays(s) || source < 0) continue;
    const Slot& old = slots_[static_cast<std::size_t>(source)];
    share(old.self, reordered_[s].self, old.self.length);
    share(old.cross, reordered_[s].cross, old.cross.length);
    reordered_[s].has_cross = old.has_cross, reordered_[s].cross_new = old.cross_new;
  }
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    if (stays(s)) continue;
    release(slots_[s]);
    std::swap(slots_[s], reordered_[s]);
  }
}

void Cache::share_prefix(std::int64_t from, std::int64_t to, std::int64_t tokens) {
  const Slot& source = at(from);
  Slot& target = at(to);
  if (target.self.length != 0 || target.has_cross || from == to)
    throw usage_error("cache: slot " + std::to_string(to) + " is not empty")
        .remedy("Clear the slot, or choose an empty slot");
  if (tokens > source.self.length || source.self.kept_from > 0)
    throw usage_error("cache: slot " + std::to_string(from) + " does not have the first " +
                      std::to_string(tokens) + " tokens")
        .found(std::to_string(source.self.length) + " tokens, of which " +
               std::to_string(source.self.kept_from) + " are released")
        .expected("at least " + std::to_string(tokens) + " tokens, none of them released");
  release(target);  // a pass that failed may have left reserved pages
  share(source.self, target.self, tokens);
  share(source.cross, target.cross, source.cross.length);
  target.has_cross = source.has_cross;
}

void Cache::reserve(std::int64_t capacity) {
  if (capacity <= capacity_) return;
  if (bounded_)
    throw resource_error("cache: the requested length exceeds the capacity of a slot")
        .found(counted(capacity, "token"))
        .expected("at most " + std::to_string(capacity_) + " tokens");
  capacity_ = pages_for(capacity) * kPageTokens;
  pool_.grow(slot_count() * pages_for(capacity));
  reserve_tables(capacity_);
}

std::int64_t Cache::bytes() const {
  return pages() * shape_.page_bytes();
}

std::int64_t Cache::held_pages(std::int64_t slot) const {
  const Table& table = at(slot).self;
  return std::ssize(table.pages) - table.kept_from;
}

bool Cache::writes_to_shared_page(std::int64_t slot) const {
  const Table& table = at(slot).self;
  const auto last = static_cast<std::size_t>(table.length / kPageTokens);
  return table.length % kPageTokens != 0 && pool_.users(table.pages[last]) > 1;
}

void Cache::make_room(std::int64_t slot, std::int64_t tokens) {
  Table& table = at(slot).self;
  if (table.length + tokens > capacity_)
    throw resource_error("cache: slot " + std::to_string(slot) + " has no room for " +
                         std::to_string(tokens) + " more tokens")
        .found(std::to_string(table.length) + " of " + std::to_string(capacity_) + " positions in use")
        .remedy("Create a larger cache, or call reserve() first");
  own_last_page(table);
  add_pages(table, table.length + tokens);
}

void Cache::append(std::int64_t layer, std::int64_t slot, const Rows& rows) {
  const Table& table = at(slot).self;
  write(table, layer, table.length, rows);
}

ops::CachedKeys Cache::keys(std::int64_t layer, std::int64_t slot, std::int64_t count) const {
  return view(at(slot).self, layer, count);
}

void Cache::advance(std::int64_t slot, std::int64_t tokens) {
  Slot& advanced = at(slot);
  Table& table = advanced.self;
  table.length += tokens;
  if (std::exchange(advanced.cross_new, false)) advanced.has_cross = true;
  if (shape_.window <= 0) return;
  // The first key that the next token may attend to is length − window + 1.
  const std::int64_t passed = (table.length - shape_.window + 1) / kPageTokens;
  for (; table.kept_from < passed; ++table.kept_from) {
    const auto page = static_cast<std::size_t>(table.kept_from);
    pool_.release(table.pages[page]);
    table.pages[page] = -1, table.at[page] = nullptr;
  }
}

bool Cache::has_cross(std::int64_t slot) const {
  return at(slot).has_cross;
}

bool Cache::cross_is_new(std::int64_t slot) const {
  return at(slot).cross_new;
}

void Cache::start_cross(std::int64_t slot, std::int64_t keys) {
  if (!shape_.cross)
    throw usage_error("the cache was created without cross-attention")
        .remedy("Create the cache from the shape of an encoder-decoder model");
  Slot& started = at(slot);
  release(started.cross);
  started.has_cross = started.cross_new = false;
  reserve_cross_tables(keys);
  add_pages(started.cross, keys);
  started.cross.length = keys;
  started.cross_new = true;
}

std::int64_t Cache::cross_length(std::int64_t slot) const {
  return at(slot).cross.length;
}

void Cache::set_cross(std::int64_t layer, std::int64_t slot, const Rows& rows) {
  write(at(slot).cross, layer, 0, rows);
}

ops::CachedKeys Cache::cross_keys(std::int64_t layer, std::int64_t slot) const {
  const Table& table = at(slot).cross;
  return view(table, layer, table.length);
}

}  // namespace regard::nn
