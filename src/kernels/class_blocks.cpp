#include "kernels/class_blocks_table.h"

#include <algorithm>

#include "kernels/dispatch.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(ClassBlocksTable, class_blocks_table)

void summarise_block(const BlockedLogits& problem, const LogitsTile& tile) {
  dispatch_class_blocks_table().summarise(problem, tile);
}

void finish_blocks(ThreadPool& pool, const BlockedLogits& problem) {
  // rows per task: a multiple of every vector length, because a vector combines several rows
  constexpr std::int64_t kRows = 16;
  const ClassBlocksTable& table = dispatch_class_blocks_table();
  pool.parallel_for((problem.rows + kRows - 1) / kRows, [&](std::int64_t task, int) {
    table.finish(problem, task * kRows, std::min(problem.rows, (task + 1) * kRows));
  });
}

}  // namespace regard::kernels
