#include "nn/positions.h"

#include <algorithm>
#include <cmath>

#include "ops/embedding.h"

namespace regard::nn {
namespace {

constexpr std::int64_t kSmallestTable = 128;

// Return the number of rows that a table must have for these positions, or 0 if `rows` are enough.
std::int64_t rows_needed(std::span<const std::int32_t> positions, std::int64_t rows) {
  std::int64_t most = -1;
  for (const std::int32_t position : positions) most = std::max<std::int64_t>(most, position);
  return most < rows ? 0 : std::max({most + 1, 2 * rows, kSmallestTable});
}

}  // namespace

Tensor sinusoids(std::int64_t positions, std::int64_t size, SinusoidLayout layout) {
  Tensor table = Tensor::zeros({positions, size});
  const bool closed = layout == SinusoidLayout::closed_halves;
  // In the layout closed_halves, a table with an odd size ends with a column of zeros.
  const std::int64_t half = closed ? size / 2 : (size + 1) / 2;
  const double steps =
      closed ? 2.0 * static_cast<double>(std::max<std::int64_t>(half - 1, 1)) : static_cast<double>(size);
  for (std::int64_t p = 0; p < positions; ++p)
    for (std::int64_t f = 0; f < (closed ? 2 * half : size); ++f) {
      const bool interleaved = layout == SinusoidLayout::interleaved;
      const std::int64_t pair = interleaved ? f / 2 : f % half;
      const bool sine = interleaved ? f % 2 == 0 : f < half;
      const double angle =
          static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(pair) / steps);
      table.row(p)[f] = static_cast<float>(sine ? std::sin(angle) : std::cos(angle));
    }
  return table;
}

Var SinusoidalPositions::forward(Tape& tape, std::span<const std::int32_t> positions) {
  const std::int64_t rows = table_.elements() == 0 ? 0 : table_.shape()[0];
  if (const std::int64_t needed = rows_needed(positions, rows); needed > 0)
    table_ = sinusoids(needed, size_, layout_);
  return ops::embedding(tape, tape.constant(table_), positions);
}

std::vector<double> rotary_frequencies(std::int64_t rotary_dim, double base) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rotary_dim / 2; ++i)
    frequencies.push_back(std::pow(base, -static_cast<double>(2 * i) / static_cast<double>(rotary_dim)));
  return frequencies;
}

RotaryPositions::RotaryPositions(RotaryConfig config) : config_(std::move(config)) {
  const std::int64_t pairs = std::ssize(config_.frequencies);
  table_.interleaved = config_.interleaved;
  table_.cosine = Tensor::zeros({0, pairs});
  table_.sine = Tensor::zeros({0, pairs});
}

const ops::RotaryTable& RotaryPositions::table(std::span<const std::int32_t> positions) {
  const std::int64_t rows = rows_needed(positions, table_.cosine.shape()[0]);
  if (rows == 0) return table_;
  const std::int64_t pairs = std::ssize(config_.frequencies);
  table_.cosine = Tensor::empty({rows, pairs});
  table_.sine = Tensor::empty({rows, pairs});
  for (std::int64_t p = 0; p < rows; ++p)
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(p) * config_.frequencies[static_cast<std::size_t>(i)];
      table_.cosine.row(p)[i] = static_cast<float>(config_.magnitude * std::cos(angle));
      table_.sine.row(p)[i] = static_cast<float>(config_.magnitude * std::sin(angle));
    }
  return table_;
}

}  // namespace regard::nn
