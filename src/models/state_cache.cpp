#include "models/state_cache.h"

#include <algorithm>
#include <string>

#include "regard/error.h"

namespace regard::models {

void reserve_states(const Tape& tape, Cache& cache, const TokenBatch& batch) {
  if (tape.recording())
    throw usage_error("a pass with a cache cannot record gradients").remedy("Train without a cache");
  const std::span<const std::int32_t> slots = cache.slots();
  if (std::ssize(slots) != batch.shape.sequences())
    throw usage_error("the number of selected cache slots differs from the number of sequences")
        .found(std::to_string(slots.size()) + " selected slots")
        .expected(std::to_string(batch.shape.sequences()) + " selected slots, one for each sequence");
  for (std::size_t s = 0; s < slots.size(); ++s)
    cache.make_room(slots[s], batch.shape.offsets[s + 1] - batch.shape.offsets[s]);
}

const float* cached_row(const ops::CachedKeys& rows, std::int64_t row, std::int64_t width, bool value) {
  return rows.pages.row(value ? rows.pages.value : rows.pages.key, width, 0, row);
}

bool read_state(const Cache& cache, std::int64_t layer, std::int32_t slot, std::int64_t size, float* state) {
  const std::int64_t length = cache.length(slot);
  if (length == 0) return false;
  const float* const row =
      cached_row(cache.keys(layer, slot, length), length - 1, cache.shape().key_width, false);
  std::copy_n(row, size, state);
  return true;
}

void write_states(Tape& tape, Cache& cache, const TokenBatch& batch, std::span<const ops::Recurrence> after) {
  const std::span<const std::int32_t> slots = cache.slots();
  const std::int64_t width = cache.shape().key_width;
  // A recurrent decoder has keys only; write zeros as values, because the cache copies value_width numbers.
  const Tensor none = tape.arena().zeros({1, std::max<std::int64_t>(1, cache.shape().value_width)});
  for (std::size_t layer = 0; layer < after.size(); ++layer) {
    const Tensor& hidden = after[layer].hidden->value;
    const std::int64_t size = hidden.columns();
    const Tensor rows = tape.arena().zeros({hidden.rows(), width});
    for (std::int64_t t = 0; t < hidden.rows(); ++t) {
      std::copy_n(hidden.row(t), size, rows.row(t));
      if (after[layer].cell != nullptr)
        std::copy_n(after[layer].cell->value.row(t), size, rows.row(t) + size);
    }
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const std::int64_t begin = batch.shape.offsets[s], count = batch.shape.offsets[s + 1] - begin;
      cache.append(static_cast<std::int64_t>(layer), slots[s],
                   {rows.row(begin), none.f32(), width, 0, count});
    }
  }
  for (std::size_t s = 0; s < slots.size(); ++s)
    cache.advance(slots[s], batch.shape.offsets[s + 1] - batch.shape.offsets[s]);
}

}  // namespace regard::models
