// Element-wise kernels of kernels/rows.h: arithmetic, activations, dropout, rotary positions and AdamW.
#include "kernels/elementwise_table.h"

#include <algorithm>

#include "kernels/call_scratch.h"
#include "kernels/dispatch.h"
#include "kernels/partition.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(ElementwiseTable, elementwise_table)

const ElementwiseTable& elementwise() {
  return dispatch_elementwise_table();
}

void add(ThreadPool& pool, const float* a, const float* b, float* y, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().add(a + begin, b + begin, y + begin, end - begin);
  });
}

void multiply(ThreadPool& pool, const float* a, const float* b, float* y, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().multiply(a + begin, b + begin, y + begin, end - begin);
  });
}

void multiply_add(ThreadPool& pool, const float* a, const float* b, float* y, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().multiply_add(a + begin, b + begin, y + begin, end - begin);
  });
}

void scale(ThreadPool& pool, const float* x, float factor, float* y, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().scale(x + begin, factor, y + begin, end - begin);
  });
}

void axpy(ThreadPool& pool, float factor, const float* x, float* y, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().axpy(factor, x + begin, y + begin, end - begin);
  });
}

void activate(ThreadPool& pool, Activation activation, const float* x, float* y, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().activate(activation, x + begin, y + begin, end - begin);
  });
}

void activate_backward(ThreadPool& pool, Activation activation, const float* x, const float* dy, float* dx,
                       std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().activate_backward(activation, x + begin, dy + begin, dx + begin, end - begin);
  });
}

void dropout(ThreadPool& pool, const Dropout& problem) {
  const DropoutDraw draw = dropout_draw(problem.key, problem.rate);
  for_rows(pool, problem.rows, problem.columns, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * problem.columns;
    DropoutRows part;
    part.draw = draw;
    part.sequence_index = problem.sequence_index + begin;
    part.position = problem.position + begin;
    part.x = problem.x + first;
    part.residual = problem.residual != nullptr ? problem.residual + first : nullptr;
    part.y = problem.y + first;
    part.rows = end - begin;
    part.columns = problem.columns;
    elementwise().dropout(part);
  });
}

void rotary(ThreadPool& pool, float* x, std::int64_t stride, std::int64_t rows, std::int64_t heads,
            std::int64_t head_dim, std::int64_t rotary_dim, const std::int32_t* position, const float* cosine,
            const float* sine, bool interleaved, bool inverse) {
  for_rows(pool, rows, heads * head_dim, [&](std::int64_t begin, std::int64_t end) {
    RotaryRows part;
    part.x = x + begin * stride;
    part.stride = stride;
    part.rows = end - begin;
    part.heads = heads;
    part.head_dim = head_dim;
    part.rotary_dim = rotary_dim;
    part.position = position + begin;
    part.cosine = cosine;
    part.sine = sine;
    part.interleaved = interleaved;
    part.inverse = inverse;
    elementwise().rotary(part);
  });
}

void adamw(ThreadPool& pool, const AdamW& step, float* weight, const float* gradient, float* first,
           float* second, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    elementwise().adamw(step, weight + begin, gradient + begin, first + begin, second + begin, end - begin);
  });
}

double sum_of_squares(ThreadPool& pool, const float* x, std::int64_t count) {
  const std::int64_t tasks = (count + kElementsPerTask - 1) / kElementsPerTask;
  double* partial = reinterpret_cast<double*>(call_scratch(static_cast<std::size_t>(tasks) * sizeof(double)));
  pool.parallel_for(tasks, [&](std::int64_t task, int) {
    const std::int64_t begin = task * kElementsPerTask;
    partial[task] = elementwise().sum_of_squares(x + begin, std::min(kElementsPerTask, count - begin));
  });
  double sum = 0.0;
  for (std::int64_t task = 0; task < tasks; ++task) sum += partial[task];
  return sum;
}

}  // namespace regard::kernels
