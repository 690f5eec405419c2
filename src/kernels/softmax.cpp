// Softmax, log-softmax and cross-entropy of kernels/rows.h.
#include "kernels/softmax_table.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/dispatch.h"
#include "kernels/partition.h"
#include "kernels/rows.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(SoftmaxTable, softmax_table)

namespace {

using Forward = void (*)(const float* x, float* y, std::int64_t rows, std::int64_t columns);
using Backward = void (*)(const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns);

struct Matrix {
  std::int64_t rows, columns;
};

void run_forward(ThreadPool& pool, Forward kernel, const float* x, float* y, Matrix of) {
  for_rows(pool, of.rows, of.columns, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * of.columns;
    kernel(x + at, y + at, end - begin, of.columns);
  });
}

void run_backward(ThreadPool& pool, Backward kernel, const float* y, const float* dy, float* dx, Matrix of) {
  for_rows(pool, of.rows, of.columns, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * of.columns;
    kernel(y + at, dy + at, dx + at, end - begin, of.columns);
  });
}

}  // namespace

void softmax(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  run_forward(pool, dispatch_softmax_table().softmax, x, y, {rows, columns});
}

void softmax_backward(ThreadPool& pool, const float* y, const float* dy, float* dx, std::int64_t rows,
                      std::int64_t columns) {
  run_backward(pool, dispatch_softmax_table().softmax_backward, y, dy, dx, {rows, columns});
}

void log_softmax(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  run_forward(pool, dispatch_softmax_table().log_softmax, x, y, {rows, columns});
}

void log_softmax_backward(ThreadPool& pool, const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns) {
  run_backward(pool, dispatch_softmax_table().log_softmax_backward, y, dy, dx, {rows, columns});
}

void log_sum_exp(ThreadPool& pool, const float* x, float* lse, std::int64_t rows, std::int64_t columns) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    table.log_sum_exp(x + begin * columns, lse + begin, end - begin, columns);
  });
}

namespace {

// Maximum k for SoftmaxTable::top_k, which inserts into a sorted list in time O(columns · k). For a larger k,
// select_largest() is faster.
constexpr std::int64_t kMostInserted = 128;

// Find the k largest entries as SoftmaxTable::top_k does, in time O(columns + k log k). `order` is scratch
// memory.
void select_largest(const float* x, std::int64_t columns, std::int64_t k, float* values,
                    std::int32_t* indices, std::vector<std::int32_t>& order) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  order.clear();
  for (std::int64_t column = 0; column < columns; ++column)
    if (x[column] > kLowest) order.push_back(static_cast<std::int32_t>(column));
  const auto larger = [x](std::int32_t a, std::int32_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; };
  const std::int64_t count = std::min(k, std::ssize(order));
  if (count < std::ssize(order)) std::nth_element(order.begin(), order.begin() + count, order.end(), larger);
  std::sort(order.begin(), order.begin() + count, larger);
  for (std::int64_t i = 0; i < k; ++i) {
    indices[i] = i < count ? order[static_cast<std::size_t>(i)] : -1;
    values[i] = i < count ? x[indices[i]] : kLowest;
  }
}

}  // namespace

void top_k(ThreadPool& pool, const float* x, std::int64_t rows, std::int64_t columns, std::int64_t k,
           float* values, std::int32_t* indices) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    if (k > kMostInserted) {
      std::vector<std::int32_t> order;
      for (std::int64_t row = begin; row < end; ++row)
        select_largest(x + row * columns, columns, k, values + row * k, indices + row * k, order);
      return;
    }
    for (std::int64_t row = begin; row < end; ++row)
      table.top_k(x + row * columns, columns, k, values + row * k, indices + row * k);
  });
}

namespace {

// Call body(part, begin) for ranges of rows. `part` is a copy of `all` with the logits and targets of the
// range only, and `begin` is the first row of the range.
template <class Body>
void for_parts(ThreadPool& pool, const CrossEntropyRows& all, Body&& body) {
  for_rows(pool, all.rows, all.classes, [&](std::int64_t begin, std::int64_t end) {
    CrossEntropyRows part = all;
    part.rows = end - begin;
    part.logits += begin * all.classes, part.targets += begin;
    body(part, begin);
  });
}

}  // namespace

void cross_entropy(ThreadPool& pool, const float* logits, const std::int32_t* targets, std::int64_t rows,
                   std::int64_t classes, float label_smoothing, std::int32_t ignore_index, float* loss,
                   float* lse) {
  const SoftmaxTable& table = dispatch_softmax_table();
  const CrossEntropyRows all{rows, classes, logits, targets, label_smoothing, ignore_index};
  for_parts(pool, all, [&](CrossEntropyRows& part, std::int64_t begin) {
    part.loss = loss + begin;
    part.lse = lse + begin;
    table.cross_entropy(part);
  });
}

void cross_entropy_backward(ThreadPool& pool, const float* logits, const float* lse,
                            const std::int32_t* targets, std::int64_t rows, std::int64_t classes,
                            float label_smoothing, std::int32_t ignore_index, float factor,
                            float* logits_gradient) {
  const SoftmaxTable& table = dispatch_softmax_table();
  const CrossEntropyRows all{rows, classes, logits, targets, label_smoothing, ignore_index};
  for_parts(pool, all, [&](CrossEntropyRows& part, std::int64_t begin) {
    part.known_lse = lse + begin;
    part.factor = factor;
    part.gradient = logits_gradient + begin * classes;
    table.cross_entropy_backward(part);
  });
}

}  // namespace regard::kernels
