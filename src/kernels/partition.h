// How loops over rows and elements are cut for the pool. The cuts depend on shapes only, never on the number
// of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace regard::kernels {

// About this many elements make a task: long enough to pay for handing it out, short enough to share.
constexpr std::int64_t kElementsPerTask = 8192;

// A multiple of every vector's lanes, so that element-wise loops are cut between vectors.
static_assert(kElementsPerTask % 64 == 0);

// body(begin, end) over [0, rows), in runs of whole rows of `columns` elements.
template <class Body>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t columns, Body&& body) {
  const std::int64_t run = std::max<std::int64_t>(1, kElementsPerTask / std::max<std::int64_t>(1, columns));
  pool.parallel_for((rows + run - 1) / run,
                    [&](std::int64_t task, int) { body(task * run, std::min(rows, (task + 1) * run)); });
}

// body(begin, end) over [0, count).
template <class Body>
void for_elements(ThreadPool& pool, std::int64_t count, Body&& body) {
  for_rows(pool, count, 1, body);
}

// Rows that one partial sum of a weight gradient runs over: at most 64 partial sums.
inline std::int64_t rows_per_partial_sum(std::int64_t rows) {
  return std::max<std::int64_t>(32, (rows + 63) / 64);
}

}  // namespace regard::kernels
