// Softmax, log-softmax and cross-entropy of kernels/rows.h.
#include "kernels/softmax_table.h"

#include "kernels/dispatch.h"
#include "kernels/partition.h"
#include "kernels/rows.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(SoftmaxTable, softmax_table)

void softmax(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    table.softmax(x + begin * columns, y + begin * columns, end - begin, columns);
  });
}

void softmax_backward(ThreadPool& pool, const float* y, const float* dy, float* dx, std::int64_t rows,
                      std::int64_t columns) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * columns;
    table.softmax_backward(y + at, dy + at, dx + at, end - begin, columns);
  });
}

void log_softmax(ThreadPool& pool, const float* x, float* y, std::int64_t rows, std::int64_t columns) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    table.log_softmax(x + begin * columns, y + begin * columns, end - begin, columns);
  });
}

void log_softmax_backward(ThreadPool& pool, const float* y, const float* dy, float* dx, std::int64_t rows,
                          std::int64_t columns) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t at = begin * columns;
    table.log_softmax_backward(y + at, dy + at, dx + at, end - begin, columns);
  });
}

void log_sum_exp(ThreadPool& pool, const float* x, float* lse, std::int64_t rows, std::int64_t columns) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    table.log_sum_exp(x + begin * columns, lse + begin, end - begin, columns);
  });
}

void top_k(ThreadPool& pool, const float* x, std::int64_t rows, std::int64_t columns, std::int64_t k,
           float* values, std::int32_t* indices) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      table.top_k(x + row * columns, columns, k, values + row * k, indices + row * k);
  });
}

void cross_entropy(ThreadPool& pool, const float* logits, const std::int32_t* targets, std::int64_t rows,
                   std::int64_t classes, float label_smoothing, std::int32_t ignore_index, float* loss,
                   float* lse) {
  const SoftmaxTable& table = dispatch_softmax_table();
  for_rows(pool, rows, classes, [&](std::int64_t begin, std::int64_t end) {
    CrossEntropyRows part;
    part.rows = end - begin;
    part.classes = classes;
    part.logits = logits + begin * classes;
    part.targets = targets + begin;
    part.label_smoothing = label_smoothing;
    part.ignore_index = ignore_index;
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
  for_rows(pool, rows, classes, [&](std::int64_t begin, std::int64_t end) {
    CrossEntropyRows part;
    part.rows = end - begin;
    part.classes = classes;
    part.logits = logits + begin * classes;
    part.targets = targets + begin;
    part.label_smoothing = label_smoothing;
    part.ignore_index = ignore_index;
    part.known_lse = lse + begin;
    part.factor = factor;
    part.gradient = logits_gradient + begin * classes;
    table.cross_entropy_backward(part);
  });
}

}  // namespace regard::kernels
