#include "kernels/bf16_pages.h"

#include <bit>
#include <cstring>

#include "kernels/bf16.h"
#include "kernels/bf16_panels.h"

namespace regard::kernels {
namespace {

std::uint16_t* numbers(float* floats) {
  return reinterpret_cast<std::uint16_t*>(floats);
}

// Return the index of feature `dim` of row `row` in the packed keys of a head.
std::int64_t key_place(std::int64_t dim, std::int64_t row) {
  return (dim / 2 * kBf16PageRows + row) * 2 + dim % 2;
}

// Return the index of feature `dim` of row `row` in the packed values of a head.
std::int64_t value_place(const Bf16PageShape& shape, std::int64_t dim, std::int64_t row) {
  const std::int64_t first = dim / kBf16PanelColumns * kBf16PanelColumns;
  const std::int64_t width = std::min(kBf16PanelColumns, round_up(shape.value_dim - first, kBf16Columns));
  return first * kBf16PageRows + (row / 2 * width + dim - first) * 2 + row % 2;
}

void write_whole(const Bf16PageShape& shape, std::uint16_t* keys, std::uint16_t* values,
                 const Bf16PageRows& rows) {
  const Bf16Table::Path& path = bf16_functions().of[static_cast<int>(active_bf16_path())];
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    path.pack_b(
        f32_source(rows.key + head * shape.head_dim, rows.key_stride, 1, kBf16PageRows, shape.head_dim),
        keys + head * shape.key_numbers());
    for (std::int64_t dim = 0; dim < shape.value_dim; dim += kBf16PanelColumns)
      path.pack_b(f32_source(rows.value + head * shape.value_dim + dim, 1, rows.value_stride,
                             std::min(kBf16PanelColumns, shape.value_dim - dim), kBf16PageRows),
                  values + head * shape.value_numbers() + dim * kBf16PageRows);
  }
}

// Write one row of keys and values: round the numbers of each head, and copy them to their positions in the
// page.
void write_row(const Bf16PageShape& shape, std::uint16_t* keys, std::uint16_t* values, std::int64_t row,
               const float* key, const float* value) {
  constexpr std::int64_t kAtOnce = 256;
  const Bf16Table& table = bf16_functions();
  std::uint16_t rounded[kAtOnce];
  const auto distribute = [&](const float* from, std::int64_t dims, const auto& place, std::uint16_t* to) {
    for (std::int64_t first = 0; first < dims; first += kAtOnce) {
      const std::int64_t count = std::min(kAtOnce, dims - first);
      table.round(from + first, rounded, count);
      for (std::int64_t i = 0; i < count; ++i) to[place(first + i)] = rounded[i];
    }
  };
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    distribute(
        key + head * shape.head_dim, shape.head_dim, [&](std::int64_t dim) { return key_place(dim, row); },
        keys + head * shape.key_numbers());
    distribute(
        value + head * shape.value_dim, shape.value_dim,
        [&](std::int64_t dim) { return value_place(shape, dim, row); },
        values + head * shape.value_numbers());
  }
}

float widened(std::uint16_t x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

}  // namespace

void write_bf16_page(const Bf16PageShape& shape, float* keys, float* values, std::int64_t first,
                     const Bf16PageRows& rows) {
  if (first == 0 && rows.count == kBf16PageRows)
    return write_whole(shape, numbers(keys), numbers(values), rows);
  if (first == 0) {
    std::fill_n(keys, shape.key_floats(), 0.0f);
    std::fill_n(values, shape.value_floats(), 0.0f);
  }
  for (std::int64_t row = 0; row < rows.count; ++row)
    write_row(shape, numbers(keys), numbers(values), first + row, rows.key + row * rows.key_stride,
              rows.value + row * rows.value_stride);
}

void clear_bf16_values(const Bf16PageShape& shape, float* values, std::int64_t first) {
  for (std::int64_t head = 0; head < shape.heads; ++head)
    for (std::int64_t row = first; row < kBf16PageRows; ++row)
      for (std::int64_t dim = 0; dim < shape.value_dim; ++dim)
        numbers(values)[head * shape.value_numbers() + value_place(shape, dim, row)] = 0;
}

void read_bf16_pages(const Bf16PageShape& shape, const AttentionPages& pages, std::int64_t count, float* key,
                     float* value) {
  for (std::int64_t row = 0; row < count; ++row) {
    const float* page = pages.at[row / kBf16PageRows];
    const std::int64_t within = row % kBf16PageRows;
    if (page == nullptr) {
      key = std::fill_n(key, shape.heads * shape.head_dim, 0.0f);
      value = std::fill_n(value, shape.heads * shape.value_dim, 0.0f);
      continue;
    }
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const auto* keys =
          reinterpret_cast<const std::uint16_t*>(page + pages.key) + head * shape.key_numbers();
      const auto* values =
          reinterpret_cast<const std::uint16_t*>(page + pages.value) + head * shape.value_numbers();
      for (std::int64_t dim = 0; dim < shape.head_dim; ++dim) *key++ = widened(keys[key_place(dim, within)]);
      for (std::int64_t dim = 0; dim < shape.value_dim; ++dim)
        *value++ = widened(values[value_place(shape, dim, within)]);
    }
  }
}

}  // namespace regard::kernels
