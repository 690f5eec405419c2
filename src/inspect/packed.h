// Matrices as JSON: rows of numbers, or packed as bytes in base64.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "inspect/attention_view.h"

namespace regard::inspect {

// JSON with f32 numbers. nlohmann then writes the shortest decimal that parses to the same f32.
using FloatJson = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                                       std::uint64_t, float>;

// Return a matrix as JSON rows [[…], …]. Parsing them gives the same f32 values.
FloatJson rows_json(std::span<const float> numbers, std::int64_t columns);

// Return {"rows", "columns", "bits": 32, "data"}: the f32 values, little-endian, row-major.
FloatJson packed_f32(std::span<const float> numbers, std::int64_t columns);

// Return {"rows", "columns", "bits": 16, "scale": [rows], "data"}: little-endian signed integers. A value is
// scale · integer / 32767, where scale is the row's largest absolute value; the error is at most scale /
// 65534. If a row contains NaN or an infinite value, its scale is NaN (null in JSON text) and all its
// integers are 0.
FloatJson packed_int16(std::span<const float> numbers, std::int64_t columns);

// Return {"rows", "columns", "bits": 8, "scale": [rows], "data"} for values ≥ 0. A value is scale · byte /
// 255, where scale is the row's largest value; the error is at most scale / 510. If a row contains
// NaN or an infinite value, its scale is NaN and all its bytes are 0.
FloatJson packed_bytes(std::span<const float> numbers, std::int64_t columns);

// Return a reduced map of at most 32 × 32 cells: {"rows", "columns", "bits": 8, "scale": [1], "data"}. The
// value of a cell is the largest weight that it covers. Cell (r, c) covers the rows from ⌊r · map.rows /
// rows⌋ up to, but not including, ⌊(r + 1) · map.rows / rows⌋. Columns are divided the same way.
FloatJson thumbnail(const Map& map);

}  // namespace regard::inspect
