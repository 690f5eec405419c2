#include "inspect/packed.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "text/base64.h"

namespace regard::inspect {
namespace {

constexpr std::int64_t kThumbnailSide = 32;

char byte_of(float value, float scale) {
  const float share = scale > 0 ? std::clamp(value / scale, 0.0f, 1.0f) : 0.0f;
  return static_cast<char>(static_cast<std::uint8_t>(std::lround(share * 255)));
}

FloatJson packed(std::int64_t rows, std::int64_t columns, int bits, const std::string& bytes) {
  return FloatJson{
      {"rows", rows}, {"columns", columns}, {"bits", bits}, {"data", text::encode_base64(bytes)}};
}

std::int64_t rows_of(std::span<const float> numbers, std::int64_t columns) {
  return columns > 0 ? std::ssize(numbers) / columns : 0;
}

// Return the largest absolute value of a row, or NaN if the row contains NaN or an infinite value.
float scale_of(std::span<const float> row) {
  float scale = 0.0f;
  for (const float value : row) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    scale = std::max(scale, std::abs(value));
  }
  return scale;
}

}  // namespace

FloatJson rows_json(std::span<const float> numbers, std::int64_t columns) {
  FloatJson rows = FloatJson::array();
  for (std::int64_t r = 0; r < rows_of(numbers, columns); ++r) {
    const auto row =
        numbers.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns));
    rows.push_back(std::vector<float>(row.begin(), row.end()));
  }
  return rows;
}

FloatJson packed_f32(std::span<const float> numbers, std::int64_t columns) {
  std::string bytes;
  bytes.reserve(numbers.size() * 4);
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((bits >> shift) & 255u);
  }
  return packed(rows_of(numbers, columns), columns, 32, bytes);
}

FloatJson packed_int16(std::span<const float> numbers, std::int64_t columns) {
  std::string bytes;
  bytes.reserve(numbers.size() * 2);
  std::vector<float> scales;
  for (std::int64_t r = 0; r < rows_of(numbers, columns); ++r) {
    const auto row =
        numbers.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns));
    const float scale = scale_of(row);
    scales.push_back(scale);
    for (const float value : row) {
      const auto bits = static_cast<std::uint16_t>(scale > 0 ? std::lround(value / scale * 32767) : 0);
      bytes += static_cast<char>(bits & 255u);
      bytes += static_cast<char>(bits >> 8);
    }
  }
  FloatJson out = packed(rows_of(numbers, columns), columns, 16, bytes);
  out["scale"] = scales;
  return out;
}

FloatJson packed_bytes(std::span<const float> numbers, std::int64_t columns) {
  std::string bytes;
  std::vector<float> scales;
  for (std::int64_t r = 0; r < rows_of(numbers, columns); ++r) {
    const auto row =
        numbers.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns));
    float scale = scale_of(row);
    if (!std::isnan(scale)) scale = std::max(0.0f, *std::max_element(row.begin(), row.end()));
    scales.push_back(scale);
    for (const float value : row) bytes += byte_of(value, scales.back());
  }
  FloatJson out = packed(rows_of(numbers, columns), columns, 8, bytes);
  out["scale"] = scales;
  return out;
}

FloatJson thumbnail(const Map& map) {
  const std::int64_t rows = std::min(kThumbnailSide, map.rows),
                     columns = std::min(kThumbnailSide, map.columns);
  std::vector<float> cells(static_cast<std::size_t>(rows * columns), 0.0f);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t i = r * map.rows / rows; i < (r + 1) * map.rows / rows; ++i)
        for (std::int64_t j = c * map.columns / columns; j < (c + 1) * map.columns / columns; ++j) {
          float& cell = cells[static_cast<std::size_t>(r * columns + c)];
          cell = std::max(cell, map.at(i, j));
        }
  const float scale = cells.empty() ? 0.0f : *std::max_element(cells.begin(), cells.end());
  std::string bytes;
  for (const float cell : cells) bytes += byte_of(cell, scale);
  FloatJson out = packed(rows, columns, 8, bytes);
  out["scale"] = std::vector<float>{scale};
  return out;
}

}  // namespace regard::inspect
