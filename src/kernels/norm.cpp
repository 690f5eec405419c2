// Layer norm, RMS norm and sum_rows() of kernels/rows.h. Weight gradients are computed as partial sums over
// fixed ranges of rows, which are then added in order.
#include "kernels/norm_table.h"

#include <algorithm>

#include "kernels/bf16_table.h"
#include "kernels/call_scratch.h"
#include "kernels/dispatch.h"
#include "kernels/partition.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(NormTable, norm_table)

namespace {

constexpr std::int64_t kColumnsPerTask = 256;

// Compute target[c] += Σ over i < count of partial[i, c], in order; partial [count, stride].
void add_partial_sums(ThreadPool& pool, const float* partial, std::int64_t count, std::int64_t stride,
                      std::int64_t columns, float* target) {
  const NormTable& table = dispatch_norm_table();
  pool.parallel_for((columns + kColumnsPerTask - 1) / kColumnsPerTask, [&](std::int64_t task, int) {
    const std::int64_t begin = task * kColumnsPerTask;
    table.sum_rows(partial + begin, stride, count, std::min(kColumnsPerTask, columns - begin),
                   target + begin);
  });
}

}  // namespace

void norm(ThreadPool& pool, const Norm& problem) {
  const NormTable& table = dispatch_norm_table();
  for_rows(pool, problem.rows, problem.columns,
           [&](std::int64_t begin, std::int64_t end) { table.norm(problem, begin, end); });
}

void norm_backward(ThreadPool& pool, const NormBackward& problem) {
  const NormTable& table = dispatch_norm_table();
  const bool gain = problem.gain_gradient != nullptr, bias = problem.bias_gradient != nullptr;
  if (!gain && !bias) {
    for_rows(pool, problem.rows, problem.columns, [&](std::int64_t begin, std::int64_t end) {
      table.norm_backward(problem, begin, end, nullptr, nullptr);
    });
    return;
  }
  const std::int64_t run = rows_per_partial_sum(problem.rows);
  const std::int64_t runs = (problem.rows + run - 1) / run;
  const std::int64_t stride = 2 * problem.columns;
  float* partial = reinterpret_cast<float*>(
      // [runs, 2 × columns]: for each range of rows, the sums for the gain, then those for the bias
      call_scratch(static_cast<std::size_t>(runs * stride) * sizeof(float)));
  pool.parallel_for(runs, [&](std::int64_t task, int) {
    float* sums = partial + task * stride;
    std::fill(sums, sums + stride, 0.0f);
    table.norm_backward(problem, task * run, std::min(problem.rows, (task + 1) * run), gain ? sums : nullptr,
                        bias ? sums + problem.columns : nullptr);
  });
  if (gain) add_partial_sums(pool, partial, runs, stride, problem.columns, problem.gain_gradient);
  if (bias)
    add_partial_sums(pool, partial + problem.columns, runs, stride, problem.columns, problem.bias_gradient);
}

namespace {

// Add the sum of all rows to bias_gradient. sum(first row, number of rows, sums) adds a range of rows to
// `sums`. The sums of the ranges are added in order.
template <class Sum>
void sum_ranges(ThreadPool& pool, std::int64_t rows, std::int64_t columns, float* bias_gradient, Sum&& sum) {
  const std::int64_t run = rows_per_partial_sum(rows);
  const std::int64_t runs = (rows + run - 1) / run;
  float* partial =
      reinterpret_cast<float*>(call_scratch(static_cast<std::size_t>(runs * columns) * sizeof(float)));
  pool.parallel_for(runs, [&](std::int64_t task, int) {
    float* sums = partial + task * columns;
    std::fill(sums, sums + columns, 0.0f);
    sum(task * run, std::min(run, rows - task * run), sums);
  });
  add_partial_sums(pool, partial, runs, columns, columns, bias_gradient);
}

}  // namespace

void sum_rows(ThreadPool& pool, const float* dy, std::int64_t stride, std::int64_t rows, std::int64_t columns,
              float* bias_gradient) {
  const NormTable& table = dispatch_norm_table();
  sum_ranges(pool, rows, columns, bias_gradient, [&](std::int64_t first, std::int64_t count, float* sums) {
    table.sum_rows(dy + first * stride, stride, count, columns, sums);
  });
}

void sum_bf16_rows(ThreadPool& pool, const std::uint16_t* dy, std::int64_t rows, std::int64_t columns,
                   float* bias_gradient) {
  const Bf16Table& table = bf16_functions();
  sum_ranges(pool, rows, columns, bias_gradient, [&](std::int64_t first, std::int64_t count, float* sums) {
    table.sum_rows(dy + first * columns, columns, count, columns, sums);
  });
}

}  // namespace regard::kernels
