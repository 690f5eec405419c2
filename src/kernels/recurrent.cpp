#include "kernels/recurrent.h"

#include "kernels/dispatch.h"
#include "kernels/partition.h"
#include "kernels/recurrent_table.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(RecurrentTable, recurrent_table)

void recurrent_step(ThreadPool& pool, const RecurrentStep& step) {
  for_rows(pool, step.rows, 4 * gates_of(step.cell) * step.hidden, [&](std::int64_t begin, std::int64_t end) {
    dispatch_recurrent_table().forward(step, begin, end);
  });
}

void recurrent_step_backward(ThreadPool& pool, const RecurrentStepBackward& step) {
  for_rows(pool, step.rows, 4 * gates_of(step.cell) * step.hidden, [&](std::int64_t begin, std::int64_t end) {
    dispatch_recurrent_table().backward(step, begin, end);
  });
}

}  // namespace regard::kernels
