// How attention is cut into tasks. No cut can change a bit: a row's sums depend on its own keys only, and a
// key's gradients are summed within one task.
#include "kernels/attention.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/attention_table.h"
#include "kernels/dispatch.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(AttentionTable, attention_table)

namespace {

constexpr double kOperationsInTask = 1e6;        // multiply-adds that pay for taking a task
constexpr double kOperationsForThreads = 400e3;  // below, other threads cost more than they bring
constexpr std::int64_t kTasksForThread = 8;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Neighbouring units in one task where units are small.
struct Cut {
  std::int64_t units = 0, units_in_task = 1;
  bool threaded = false;

  Cut(const ThreadPool& pool, std::int64_t all_units, double operations) : units(all_units) {
    threaded = pool.size() > 1 && units > 1 && operations >= kOperationsForThreads;
    const auto small = static_cast<std::int64_t>(operations / kOperationsInTask) + 1;
    const std::int64_t tasks = std::min({units, std::max<std::int64_t>(small, pool.size()),
                                         std::max(kTasksForThread * pool.size(), units / 4)});
    units_in_task = std::max<std::int64_t>(1, ceil_divide(units, std::max<std::int64_t>(1, tasks)));
  }

  // body(unit, scratch) for every unit.
  template <class Body>
  void run(ThreadPool& pool, std::size_t bytes, Body&& body) const {
    const auto task_body = [&](std::int64_t task, int worker) {
      std::byte* scratch = pool.scratch(worker, bytes);
      const std::int64_t end = std::min(units, (task + 1) * units_in_task);
      for (std::int64_t unit = task * units_in_task; unit < end; ++unit) body(unit, scratch);
    };
    const std::int64_t tasks = ceil_divide(units, units_in_task);
    if (threaded) {
      pool.parallel_for(tasks, task_body);
    } else {
      for (std::int64_t task = 0; task < tasks; ++task) task_body(task, pool.current_worker());
    }
  }
};

double operations_of(const Attention& problem) {
  double pairs = 0.0;
  for (const AttentionSequence& sequence : problem.sequences)
    pairs += static_cast<double>(sequence.queries) * static_cast<double>(sequence.keys);
  return pairs * static_cast<double>(problem.heads * (problem.head_dim + problem.value_dim));
}

AttentionDropout dropout_of(const Attention& problem) {
  return problem.dropout > 0.0f ? attention_dropout(problem.dropout_key, problem.dropout)
                                : AttentionDropout{};
}

// All keys of one sequence and key head, in order.
void backward_columns(const Attention& problem, const AttentionDropout& dropout, std::int64_t sequence,
                      std::int64_t kv_head, std::byte* scratch) {
  const AttentionTable& table = dispatch_attention_table();
  const std::int64_t keys = problem.sequences[static_cast<std::size_t>(sequence)].keys;
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(keys, begin + table.backward_keys);
    table.backward(problem, dropout, {sequence, kv_head, begin, end}, scratch);
    begin = end;
  } while (begin < keys);
}

// With a gradient of the bias, whatever adds to the same of its elements runs in one task, sequences in
// order.
void backward_with_bias(ThreadPool& pool, const Attention& problem, const AttentionDropout& dropout,
                        std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(problem.sequences.size());
  const bool heads_apart = problem.bias_head_stride != 0, rows_apart = problem.bias_sequence_stride != 0;
  const std::int64_t head_tasks = heads_apart ? problem.kv_heads : 1, row_tasks = rows_apart ? count : 1;
  const auto row_of = [&](std::int64_t sequence) {
    return problem.sequences[static_cast<std::size_t>(sequence)].mask_row;
  };
  pool.parallel_for(head_tasks * row_tasks, [&](std::int64_t task, int worker) {
    std::byte* scratch = pool.scratch(worker, bytes);
    const std::int64_t first = task / head_tasks, head = task % head_tasks;
    if (rows_apart)
      for (std::int64_t earlier = 0; earlier < first; ++earlier)
        if (row_of(earlier) == row_of(first)) return;
    for (std::int64_t sequence = first; sequence < count; ++sequence) {
      if (rows_apart && row_of(sequence) != row_of(first)) continue;
      for (std::int64_t kv_head = heads_apart ? head : 0;
           kv_head < (heads_apart ? head + 1 : problem.kv_heads); ++kv_head)
        backward_columns(problem, dropout, sequence, kv_head, scratch);
    }
  });
}

}  // namespace

void attention_forward(ThreadPool& pool, const Attention& problem) {
  const AttentionTable& table = dispatch_attention_table();
  const AttentionDropout dropout = dropout_of(problem);
  std::int64_t most_queries = 0;
  for (const AttentionSequence& sequence : problem.sequences)
    most_queries = std::max(most_queries, sequence.queries);
  // A unit is a chunk of queries of one sequence and head; the last chunks, which see most keys, come first.
  const std::int64_t chunks = ceil_divide(most_queries, table.forward_queries);
  const std::int64_t pairs = static_cast<std::int64_t>(problem.sequences.size()) * problem.heads;
  const Cut cut(pool, chunks * pairs, operations_of(problem));
  cut.run(pool, table.forward_bytes(problem), [&](std::int64_t unit, std::byte* scratch) {
    const std::int64_t chunk = chunks - 1 - unit / pairs, sequence = unit % pairs / problem.heads;
    const std::int64_t queries = problem.sequences[static_cast<std::size_t>(sequence)].queries;
    const std::int64_t begin = chunk * table.forward_queries;
    const std::int64_t end = std::min(queries, begin + table.forward_queries);
    if (begin < end) table.forward(problem, dropout, {sequence, unit % problem.heads, begin, end}, scratch);
  });
}

void attention_backward(ThreadPool& pool, const Attention& problem) {
  const AttentionTable& table = dispatch_attention_table();
  const AttentionDropout dropout = dropout_of(problem);
  const std::size_t bytes = table.backward_bytes(problem);
  if (problem.bias_gradient != nullptr) return backward_with_bias(pool, problem, dropout, bytes);
  const std::int64_t pairs = static_cast<std::int64_t>(problem.sequences.size()) * problem.kv_heads;
  const Cut cut(pool, pairs, 2.5 * operations_of(problem));
  cut.run(pool, bytes, [&](std::int64_t unit, std::byte* scratch) {
    backward_columns(problem, dropout, unit / problem.kv_heads, unit % problem.kv_heads, scratch);
  });
}

void attention_weights(const Attention& problem, std::int64_t sequence, std::int64_t head, float* weights) {
  const AttentionTable& table = dispatch_attention_table();
  const std::size_t bytes = table.weights_bytes(problem);
  std::vector<std::byte> scratch(bytes + 64);
  void* memory = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, bytes, memory, space);
  table.weights(problem, {sequence, head, 0, problem.sequences[static_cast<std::size_t>(sequence)].queries},
                weights, static_cast<std::byte*>(memory));
}

}  // namespace regard::kernels
