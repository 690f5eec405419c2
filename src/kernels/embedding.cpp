// Embedding look-up and its gradient. For the gradient, a stable radix sort orders the rows by id. One task
// sums all rows of an id, so results do not depend on the division into tasks.
#include <algorithm>
#include <utility>

#include "kernels/call_scratch.h"
#include "kernels/elementwise_table.h"
#include "kernels/partition.h"

namespace regard::kernels {

namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

// Sort keys (id << 32 | row, in the order of rows) by id. Return the sorted array, which is `keys` or
// `spare`.
std::uint64_t* sort_by_id(std::uint64_t* keys, std::uint64_t* spare, std::size_t count,
                          std::int64_t vocabulary) {
  for (int shift = 32; shift < 64 && (std::max<std::int64_t>(vocabulary, 1) - 1) >> (shift - 32) != 0;
       shift += kDigitBits) {
    std::size_t start[kDigits] = {};
    for (std::size_t i = 0; i < count; ++i) ++start[keys[i] >> shift & (kDigits - 1)];
    std::size_t sum = 0;
    for (std::size_t& one : start) sum += std::exchange(one, sum);
    for (std::size_t i = 0; i < count; ++i) spare[start[keys[i] >> shift & (kDigits - 1)]++] = keys[i];
    std::swap(keys, spare);
  }
  return keys;
}

}  // namespace

void embedding(ThreadPool& pool, const float* table, const std::int32_t* ids, std::int64_t rows,
               std::int64_t columns, float factor, float* y) {
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      elementwise().scale(table + static_cast<std::int64_t>(ids[row]) * columns, factor, y + row * columns,
                          columns);
  });
}

void embedding_backward(ThreadPool& pool, const float* dy, const std::int32_t* ids, std::int64_t rows,
                        std::int64_t columns, std::int64_t vocabulary, float factor, float* table_gradient) {
  if (rows == 0) return;
  const auto count = static_cast<std::size_t>(rows);
  auto* keys = reinterpret_cast<std::uint64_t*>(call_scratch(2 * count * sizeof(std::uint64_t)));
  for (std::size_t row = 0; row < count; ++row)
    keys[row] = static_cast<std::uint64_t>(static_cast<std::uint32_t>(ids[row])) << 32 | row;
  const std::uint64_t* sorted = sort_by_id(keys, keys + count, count, vocabulary);
  const auto id_at = [&](std::int64_t i) { return static_cast<std::int64_t>(sorted[i] >> 32); };
  // Each task has a range of the sorted rows. It sums the gradients of every id whose first row is in this
  // range.
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    while (begin > 0 && begin < end && id_at(begin) == id_at(begin - 1)) ++begin;
    while (begin < end) {
      std::int64_t next = begin + 1;
      while (next < rows && id_at(next) == id_at(begin)) ++next;
      elementwise().gather_rows(dy, sorted + begin, next - begin, columns, factor,
                                table_gradient + id_at(begin) * columns);
      begin = next;
    }
  });
}

}  // namespace regard::kernels
