// Divide loops over rows and elements into tasks. The division depends only on shapes, never on the
// number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace regard::kernels {

// Approximate number of elements per task: enough to outweigh the cost of starting a task, few enough to
// balance the load.
constexpr std::int64_t kElementsPerTask = 8192;

// kElementsPerTask is a multiple of every vector length, so that no task starts inside a vector.
static_assert(kElementsPerTask % 64 == 0);

// Call body(begin, end) for disjoint ranges of rows that cover [0, rows). A row has `columns` elements.
template <class Body>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t columns, Body&& body) {
  const std::int64_t run = std::max<std::int64_t>(1, kElementsPerTask / std::max<std::int64_t>(1, columns));
  pool.parallel_for((rows + run - 1) / run,
                    [&](std::int64_t task, int) { body(task * run, std::min(rows, (task + 1) * run)); });
}

// Call body(begin, end) for disjoint ranges that cover [0, count).
template <class Body>
void for_elements(ThreadPool& pool, std::int64_t count, Body&& body) {
  for_rows(pool, count, 1, body);
}

// Call body(task, worker) for each task: on the threads of the pool if `parallel`, otherwise in order on the
// calling thread, whose worker index is `caller`.
template <class Body>
void for_tasks(ThreadPool& pool, bool parallel, int caller, std::int64_t tasks, Body&& body) {
  if (parallel && tasks > 1) {
    pool.parallel_for(tasks, body);
  } else {
    for (std::int64_t task = 0; task < tasks; ++task) body(task, caller);
  }
}

// Return the number of rows per partial sum of a weight gradient. There are at most 64 partial sums.
inline std::int64_t rows_per_partial_sum(std::int64_t rows) {
  return std::max<std::int64_t>(32, (rows + 63) / 64);
}

}  // namespace regard::kernels
