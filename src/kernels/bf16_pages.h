// Cache pages of keys and values in bf16. A page contains kBf16PageRows rows, packed as operand B of the
// products of bf16_table.h, so attention multiplies by a page without copying it. For each key/value head, a
// page contains
//   keys: one panel with the rows as columns and head_dim as steps of k;
//   values: panels of at most kBf16PanelColumns features, with the rows as steps.
// Sizes that are not whole tiles are padded with zeros.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/bf16_table.h"
#include "kernels/gemm_tiling.h"

namespace regard::kernels {

constexpr std::int64_t kBf16PageRows = kBf16Steps;

// The size of one layer's keys and values in a page.
struct Bf16PageShape {
  std::int64_t heads = 0;  // key/value heads
  std::int64_t head_dim = 0, value_dim = 0;

  // key_numbers() and value_numbers() return the number of bf16 numbers per head, padding included.
  // key_floats() and value_floats() return the size in floats of the keys or values of all heads.
  std::int64_t key_numbers() const { return round_up(head_dim, kBf16Steps) * kBf16PageRows; }
  std::int64_t value_numbers() const { return round_up(value_dim, kBf16Columns) * kBf16PageRows; }
  std::int64_t key_floats() const { return heads * key_numbers() / 2; }
  std::int64_t value_floats() const { return heads * value_numbers() / 2; }
};

// Rows in f32: keys [count, heads × head_dim] and values [count, heads × value_dim].
struct Bf16PageRows {
  const float *key = nullptr, *value = nullptr;  // first row of the keys and of the values
  std::int64_t key_stride = 0, value_stride = 0;
  std::int64_t count = 0;
};

// Round rows to bf16 and write them to a page, starting at row `first`; if `first` is 0, set all rows after
// the last written row to zero. `keys` and `values` point to the keys and values in the page and must be
// 64-byte aligned.
void write_bf16_page(const Bf16PageShape& shape, float* keys, float* values, std::int64_t first,
                     const Bf16PageRows& rows);

// Set the values of row `first` and of all following rows to zero.
void clear_bf16_values(const Bf16PageShape& shape, float* values, std::int64_t first);

// Widen the first `count` rows of a sequence to key [count, heads × head_dim] and value [count, heads ×
// value_dim]. Rows of released pages (null) become zero.
void read_bf16_pages(const Bf16PageShape& shape, const AttentionPages& pages, std::int64_t count, float* key,
                     float* value);

}  // namespace regard::kernels
