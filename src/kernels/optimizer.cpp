#include "kernels/optimizer.h"

#include "kernels/dispatch.h"
#include "kernels/optimizer_table.h"
#include "kernels/partition.h"

namespace regard::kernels {
namespace {

float* from(float* pointer, std::int64_t begin) {
  return pointer != nullptr ? pointer + begin : nullptr;
}

}  // namespace

REGARD_KERNEL_TABLE(OptimizerTable, optimizer_table)

void adam(ThreadPool& pool, const AdamW& step, float* weight, const float* gradient, float* first,
          float* second, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    dispatch_optimizer_table().adam(step, weight + begin, gradient + begin, first + begin, second + begin,
                                    end - begin);
  });
}

void sgd(ThreadPool& pool, const Sgd& step, float* weight, const float* gradient, float* buffer,
         std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    dispatch_optimizer_table().sgd(step, weight + begin, gradient + begin, from(buffer, begin), end - begin);
  });
}

void rmsprop(ThreadPool& pool, const RmsProp& step, float* weight, const float* gradient, float* square,
             float* buffer, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    dispatch_optimizer_table().rmsprop(step, weight + begin, gradient + begin, square + begin,
                                       from(buffer, begin), end - begin);
  });
}

void adagrad(ThreadPool& pool, const Adagrad& step, float* weight, const float* gradient, float* sum,
             std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    dispatch_optimizer_table().adagrad(step, weight + begin, gradient + begin, sum + begin, end - begin);
  });
}

void moving_average(ThreadPool& pool, double decay, const float* weight, float* average, std::int64_t count) {
  for_elements(pool, count, [&](std::int64_t begin, std::int64_t end) {
    dispatch_optimizer_table().moving_average(decay, weight + begin, average + begin, end - begin);
  });
}

}  // namespace regard::kernels
