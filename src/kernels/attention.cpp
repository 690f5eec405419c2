// Divide attention into tasks. Results are bit-identical for every division:
// - Each sum of a row depends only on the keys of that row.
// - One task computes the whole gradient of a key.
// - The contributions to the gradient of a query are added in the order of the key chunks.
#include "kernels/attention.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "kernels/attention_table.h"
#include "kernels/call_scratch.h"
#include "kernels/dispatch.h"
#include "kernels/runs.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(AttentionTable, attention_table)

namespace {

// multiply-adds per task, enough to make the overhead of a task negligible
constexpr double kOperationsInTask = 1e6;
// problems with fewer multiply-adds run on one thread, which is faster
constexpr double kOperationsForThreads = 400e3;
constexpr std::int64_t kTasksForThread = 8;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

using Turn = std::unique_lock<std::recursive_mutex>;

// Division of `units` units of work into tasks of consecutive units. Small units share a task.
struct Cut {
  std::int64_t units = 0, units_in_task = 1;
  bool threaded = false;

  // `turn` is the caller's lock from ThreadPool::take_turn(). If it is not held (the caller runs inside a
  // task of the pool), the work runs on the calling thread.
  Cut(const ThreadPool& pool, const Turn& turn, std::int64_t all_units, double operations)
      : units(all_units) {
    threaded = turn.owns_lock() && pool.size() > 1 && units > 1 && operations >= kOperationsForThreads;
    const auto small = static_cast<std::int64_t>(operations / kOperationsInTask) + 1;
    const std::int64_t tasks = std::min({units, std::max<std::int64_t>(small, pool.size()),
                                         std::max(kTasksForThread * pool.size(), units / 4)});
    units_in_task = std::max<std::int64_t>(1, ceil_divide(units, std::max<std::int64_t>(1, tasks)));
  }

  // Call body(begin, end, scratch) for the units [begin, end) of every task.
  template <class Body>
  void run(ThreadPool& pool, std::size_t bytes, Body&& body) const {
    const auto task_body = [&](std::int64_t task, int worker) {
      body(task * units_in_task, std::min(units, (task + 1) * units_in_task), pool.scratch(worker, bytes));
    };
    const std::int64_t tasks = ceil_divide(units, units_in_task);
    if (threaded) {
      pool.reserve_scratch(bytes);
      pool.parallel_for(tasks, task_body);
    } else {
      for (std::int64_t task = 0; task < tasks; ++task) task_body(task, pool.current_worker());
    }
  }
};

// Estimated cost in multiply-adds. Loading a key is assumed to cost as much as multiplying it by
// kQueriesWorthKey queries.
double operations_of(const Attention& problem) {
  constexpr std::int64_t kQueriesWorthKey = 8;
  double pairs = 0.0;
  for (const AttentionSequence& sequence : problem.sequences) {
    const std::int64_t queries = sequence.queries == 0 ? 0 : std::max(sequence.queries, kQueriesWorthKey);
    pairs += static_cast<double>(queries) * static_cast<double>(sequence.keys);
  }
  return pairs * static_cast<double>(problem.heads * (problem.head_dim + problem.value_dim));
}

AttentionDropout dropout_of(const Attention& problem) {
  return problem.dropout > 0.0f ? attention_dropout(problem.dropout_key, problem.dropout)
                                : AttentionDropout{};
}

// Backward pass over all keys of one sequence and key/value head, in order.
void backward_columns(const Attention& problem, const AttentionDropout& dropout, std::int64_t sequence,
                      std::int64_t kv_head, std::byte* scratch) {
  const AttentionTable& table = dispatch_attention_table();
  const std::int64_t keys = problem.sequences[static_cast<std::size_t>(sequence)].keys;
  std::int64_t begin = 0;
  do {
    const std::int64_t end = std::min(keys, begin + table.backward_keys);
    table.backward(problem, dropout, {sequence, kv_head, begin, end}, nullptr, scratch);
    begin = end;
  } while (begin < keys);
}

// Counts the key chunks that have updated the gradients of each panel of queries.
class Turns final : public PanelTurns {
 public:
  Turns(const ThreadPool& pool, std::int32_t* done) : pool_(pool), done_(done) {}
  void wait(std::int64_t panel, std::int64_t turn) override {
    // A task waits only for chunks that were started earlier. Each of them has finished or is running on
    // another thread, so the wait ends.
    pool_.wait_until([&] { return std::atomic_ref(done_[panel]).load(std::memory_order_acquire) >= turn; });
  }
  void done(std::int64_t panel) override {
    std::atomic_ref(done_[panel]).fetch_add(1, std::memory_order_release);
  }

 private:
  const ThreadPool& pool_;
  std::int32_t* done_;
};

// Backward pass over chunks of keys. All sequences and key/value heads process their first chunk, then their
// second chunk, and so on.
void backward_in_chunks(ThreadPool& pool, const Turn& turn, const Attention& problem,
                        const AttentionDropout& dropout, std::size_t bytes) {
  const AttentionTable& table = dispatch_attention_table();
  const std::int64_t pairs = static_cast<std::int64_t>(problem.sequences.size()) * problem.kv_heads;
  std::int64_t most_keys = 0, most_queries = 0;
  for (const AttentionSequence& sequence : problem.sequences) {
    most_keys = std::max(most_keys, sequence.keys);
    most_queries = std::max(most_queries, sequence.queries);
  }
  const std::int64_t chunks = std::max<std::int64_t>(1, ceil_divide(most_keys, table.backward_keys));
  const std::int64_t panels =
      problem.heads / problem.kv_heads * ceil_divide(most_queries, table.backward_queries);
  const Cut cut(pool, turn, chunks * pairs, 2.5 * operations_of(problem));
  // The memory is reused by later calls and never shrinks.
  static thread_local std::vector<std::int32_t> counters;
  std::int32_t* done = nullptr;
  if (chunks > 1 && cut.threaded) {
    counters.assign(static_cast<std::size_t>(pairs * panels), 0);
    done = counters.data();
  }
  const auto columns_of = [&](std::int64_t unit) {
    const std::int64_t pair = unit % pairs, sequence = pair / problem.kv_heads;
    const std::int64_t keys = problem.sequences[static_cast<std::size_t>(sequence)].keys;
    const std::int64_t begin = unit / pairs * table.backward_keys;
    return AttentionColumns{sequence, pair % problem.kv_heads, begin,
                            std::min(keys, begin + table.backward_keys), nullptr};
  };
  cut.run(pool, bytes, [&](std::int64_t unit, std::int64_t end, std::byte* scratch) {
    // A sequence without keys also has one chunk, which sets the gradients of its queries to zero.
    const auto exists = [](const AttentionColumns& columns) {
      return columns.key_begin == 0 || columns.key_begin < columns.key_end;
    };
    for (; unit < end; ++unit) {
      AttentionColumns columns = columns_of(unit);
      if (!exists(columns)) continue;
      Turns turns(pool, done == nullptr ? nullptr : done + unit % pairs * panels);
      if (done != nullptr) columns.turns = &turns;
      const AttentionColumns following = columns_of(std::min(unit + 1, end - 1));
      table.backward(problem, dropout, columns, unit + 1 < end && exists(following) ? &following : nullptr,
                     scratch);
    }
  });
}

// Backward pass with a bias gradient. All work that adds to the same elements of the bias gradient runs in
// one task, in the order of sequences.
void backward_with_bias(ThreadPool& pool, const Turn& turn, const Attention& problem,
                        const AttentionDropout& dropout, std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(problem.sequences.size());
  const bool heads_apart = problem.bias_head_stride != 0, rows_apart = problem.bias_sequence_stride != 0;
  const std::int64_t head_tasks = heads_apart ? problem.kv_heads : 1, row_tasks = rows_apart ? count : 1;
  const auto row_of = [&](std::int64_t sequence) {
    return problem.sequences[static_cast<std::size_t>(sequence)].mask_row;
  };
  if (turn.owns_lock()) pool.reserve_scratch(bytes);
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

// Return the number of queries per chunk. Longer chunks read keys and values from memory less often, but
// there must be enough chunks to keep all threads busy.
std::int64_t forward_chunk(const ThreadPool& pool, const AttentionTable& table, std::int64_t pairs,
                           std::int64_t most_queries) {
  std::int64_t chunk = table.forward_queries;
  while (chunk > table.forward_panel &&
         pairs * ceil_divide(most_queries, chunk) < kTasksForThread * pool.size())
    chunk = ceil_divide(chunk / 2, table.forward_panel) * table.forward_panel;
  return chunk;
}

// Forward pass for few queries, as in decoding. Reading keys and values limits the speed. A unit is one head
// of a sequence; the keys of adjacent units are adjacent in memory.
void forward_few(ThreadPool& pool, const Turn& turn, const Attention& problem) {
  const AttentionTable& table = dispatch_attention_table();
  const AttentionDropout dropout = dropout_of(problem);
  const std::size_t bytes = table.forward_bytes(problem);
  const std::int64_t units = static_cast<std::int64_t>(problem.sequences.size()) * problem.heads;
  const auto rows_of = [&](std::int64_t unit) {
    const std::int64_t sequence = unit / problem.heads;
    return AttentionRows{sequence, unit % problem.heads, 0,
                         problem.sequences[static_cast<std::size_t>(sequence)].queries};
  };
  const auto attend = [&](std::int64_t unit, int worker) {
    const AttentionRows rows = rows_of(unit);
    if (rows.query_end == 0) return;
    const AttentionRows following = rows_of(std::min(unit + 1, units - 1));
    const bool more = unit + 1 < units && following.query_end > 0;
    table.forward(problem, dropout, rows, more ? &following : nullptr, pool.scratch(worker, bytes));
  };
  const bool threaded =
      turn.owns_lock() && pool.size() > 1 && operations_of(problem) >= kOperationsForThreads;
  if (threaded) pool.reserve_scratch(bytes);
  Runs runs(units, threaded ? pool.size() : 1);
  const auto take = [&](std::int64_t, int worker) {
    runs.take(worker, [&](std::int64_t unit) { attend(unit, worker); });
  };
  threaded ? pool.parallel_for(pool.size(), take) : take(0, pool.current_worker());
}

}  // namespace

void attention_forward(ThreadPool& pool, const Attention& problem) {
  const AttentionTable& table = dispatch_attention_table();
  const AttentionDropout dropout = dropout_of(problem);
  std::int64_t most_queries = 0;
  for (const AttentionSequence& sequence : problem.sequences)
    most_queries = std::max(most_queries, sequence.queries);
  const Turn turn = pool.take_turn();
  if (most_queries <= kFewQueries) return forward_few(pool, turn, problem);
  // A unit is a chunk of queries of one sequence and head. The last chunks are processed first, because they
  // have the most keys if attention is causal.
  const std::int64_t pairs = static_cast<std::int64_t>(problem.sequences.size()) * problem.heads;
  const std::int64_t chunk_queries = forward_chunk(pool, table, pairs, most_queries);
  const std::int64_t chunks = ceil_divide(most_queries, chunk_queries);
  const Cut cut(pool, turn, chunks * pairs, operations_of(problem));
  const auto rows_of = [&](std::int64_t unit) {
    const std::int64_t chunk = chunks - 1 - unit / pairs, sequence = unit % pairs / problem.heads;
    const std::int64_t begin = chunk * chunk_queries;
    const std::int64_t queries = problem.sequences[static_cast<std::size_t>(sequence)].queries;
    return AttentionRows{sequence, unit % problem.heads, begin, std::min(queries, begin + chunk_queries)};
  };
  cut.run(pool, table.forward_bytes(problem), [&](std::int64_t unit, std::int64_t end, std::byte* scratch) {
    const auto next_with_rows = [&](AttentionRows& rows) {
      while (unit < end) {
        rows = rows_of(unit++);
        if (rows.query_begin < rows.query_end) return true;
      }
      return false;
    };
    AttentionRows rows, following;
    bool more = next_with_rows(rows);
    while (more) {
      more = next_with_rows(following);
      table.forward(problem, dropout, rows, more ? &following : nullptr, scratch);
      rows = following;
    }
  });
}

void attention_backward(ThreadPool& pool, const Attention& problem) {
  const AttentionDropout dropout = dropout_of(problem);
  const std::size_t bytes = dispatch_attention_table().backward_bytes(problem);
  const Turn turn = pool.take_turn();
  if (problem.bias_gradient != nullptr) return backward_with_bias(pool, turn, problem, dropout, bytes);
  backward_in_chunks(pool, turn, problem, dropout, bytes);
}

void attention_weights(const Attention& problem, std::int64_t sequence, std::int64_t head, float* weights) {
  const AttentionTable& table = dispatch_attention_table();
  table.weights(problem, {sequence, head, 0, problem.sequences[static_cast<std::size_t>(sequence)].queries},
                weights, call_scratch(table.weights_bytes(problem)));
}

}  // namespace regard::kernels
