// Attention in bf16 as matrix products of packed panels. A task packs the keys and values of one key/value
// head of a sequence once, and multiplies them by blocks of queries. All blocks start at fixed positions of
// the sequence, so no sum depends on the batch.
#include "kernels/bf16_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention_dropout.h"
#include "kernels/bf16.h"
#include "kernels/bf16_panels.h"

namespace regard::kernels {
namespace {

constexpr std::int64_t kForwardRows = 64, kLongTextRows = 16, kManyKeys = 4096;
// queries per block of the backward pass; a multiple of kBf16Steps, because key gradients are sums over them
constexpr std::int64_t kBackwardRows = 64;
// keys per block of the backward pass; a multiple of kBf16Steps and kBf16PanelColumns
constexpr std::int64_t kBackwardKeys = 960;

// Inputs of attention for one key/value head of one sequence.
struct HeadTask {
  const Attention& problem;
  const Bf16Operands& operands;
  const AttentionSequence& sequence;
  std::int64_t kv_head = 0;
  const std::uint16_t* key = nullptr;  // [keys, head_dim], stride key_stride
  const std::uint16_t* value = nullptr;
  const Bf16Table& table;
  const Bf16Table::Path& path;
  const AttentionDropout* dropout = nullptr;  // dropout of the attention weights; null means none

  // Compute the dropout draws of the row's keys, starting at `first_key`, and set the dropout members of
  // `row`. Does nothing without dropout.
  void drop(Bf16ScoreRow& row, std::int64_t i, std::int64_t head, std::int64_t first_key,
            std::uint16_t* draws) const {
    if (dropout == nullptr) return;
    table.draw_row({*dropout, sequence.index, i + sequence.offset, head, first_key, row.count, draws});
    row.draws = draws;
    row.threshold = dropout->threshold, row.kept = dropout->kept;
  }
  // Call body(head, queries) for each query head that uses this key/value head and each block of `step`
  // queries.
  template <class Body>
  void for_query_blocks(std::int64_t step, Body&& body) const {
    const std::int64_t group = problem.heads / problem.kv_heads;
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (std::int64_t begin = 0; begin < sequence.queries; begin += step)
        body(head, Range{begin, std::min(begin + step, sequence.queries)});
  }
  // Return the number of keys, counted from the first, that query i may attend to.
  std::int64_t keys_of(std::int64_t i) const {
    if (!problem.causal) return sequence.keys;
    return std::clamp<std::int64_t>(i + sequence.offset + 1, 0, sequence.keys);
  }
  const std::uint16_t* query(std::int64_t i, std::int64_t head) const {
    return operands.query + (sequence.query_begin + i) * problem.query_stride + head * problem.head_dim;
  }
  std::uint16_t* out(std::int64_t i, std::int64_t head) const {
    return operands.out + (sequence.query_begin + i) * problem.out_stride + head * problem.value_dim;
  }
  float* lse(std::int64_t i, std::int64_t head) const {
    return problem.lse + (sequence.query_begin + i) * problem.heads + head;
  }
  Bf16Source keys_as_columns() const {
    return stored_source(key, problem.key_stride, 1, sequence.keys, problem.head_dim);
  }
  Bf16Source keys_as_steps() const {
    return stored_source(key, 1, problem.key_stride, problem.head_dim, sequence.keys);
  }
  Bf16Source values_as_columns() const {
    return stored_source(value, problem.value_stride, 1, sequence.keys, problem.value_dim);
  }
  Bf16Source values_as_steps() const {
    return stored_source(value, 1, problem.value_stride, problem.value_dim, sequence.keys);
  }
};

std::int64_t forward_rows(std::int64_t keys) {
  return keys > kManyKeys ? kLongTextRows : kForwardRows;
}

std::int64_t padded_keys(std::int64_t keys) {
  return round_up(std::max<std::int64_t>(keys, 1), kBf16PanelColumns * 2);
}
static_assert(kBf16PanelColumns * 2 % kBf16Steps == 0);

// Return the number of elements to allocate for the dropout draws of one row of scores; 0 without dropout.
std::int64_t draws_of(const Attention& problem, std::int64_t width) {
  return problem.dropout > 0.0f ? round_up(width, kBf16DrawStep) : 0;
}

class ForwardHead {
 public:
  ForwardHead(const Attention& problem, std::int64_t keys, std::byte* memory) : pieces_(memory) {
    const std::int64_t rows = forward_rows(keys), width = padded_keys(keys);
    keys_.data = pieces_.take<std::uint16_t>(Panels::size(keys, problem.head_dim));
    values_.data = pieces_.take<std::uint16_t>(Panels::size(problem.value_dim, keys));
    scores_ = pieces_.take<float>(rows * width);
    weights_ = pieces_.take<std::uint16_t>(rows * width);
    tiles_ = pieces_.take<std::uint16_t>(rows * std::max(width, padded_steps(problem.head_dim)));
    out_ = pieces_.take<float>(rows * problem.value_dim);
    draws_ = pieces_.take<std::uint16_t>(draws_of(problem, width));
  }
  std::size_t bytes() const { return pieces_.used(); }

  void run(const HeadTask& task) {
    keys_.pack(task.path, task.keys_as_columns());
    values_.pack(task.path, task.values_as_steps());
    task.for_query_blocks(forward_rows(task.sequence.keys),
                          [&](std::int64_t head, Range queries) { rows(task, head, queries); });
  }

 private:
  void rows(const HeadTask& task, std::int64_t head, Range queries) {
    const Attention& problem = task.problem;
    const std::int64_t count = task.keys_of(queries.end - 1), width = padded_keys(count);
    if (count > 0) {
      const Bf16Tiles tiles = tiles_of(task.path,
                                       stored_source(task.query(queries.begin, head), problem.query_stride, 1,
                                                     queries.size(), problem.head_dim),
                                       tiles_);
      PanelProduct{tiles, queries.size(), {0, count}, 0, problem.head_dim, scores_, width}.run(task.path,
                                                                                               keys_);
    }
    float factors[kForwardRows];
    for (std::int64_t i = 0; i < queries.size(); ++i) {
      const std::int64_t own = task.keys_of(queries.begin + i);
      Bf16ScoreRow row{scores_ + i * width, weights_ + i * width, own, width, problem.scale};
      task.drop(row, queries.begin + i, head, 0, draws_);
      const Bf16RowSum sum = task.path.softmax_row(row);
      factors[i] = own > 0 ? row.kept / sum.sum : 0.0f;
      if (problem.lse != nullptr)
        *task.lse(queries.begin + i, head) =
            own > 0 ? sum.maximum + std::log(sum.sum) : -std::numeric_limits<float>::infinity();
    }
    if (count > 0) {
      const Bf16Tiles tiles =
          tiles_of(task.path, stored_source(weights_, width, 1, queries.size(), padded_steps(count)), tiles_);
      PanelProduct{tiles, queries.size(), {0, problem.value_dim}, 0, count, out_, problem.value_dim}.run(
          task.path, values_);
    } else {
      std::fill_n(out_, queries.size() * problem.value_dim, 0.0f);
    }
    for (std::int64_t i = 0; i < queries.size(); ++i)
      task.path.scale_row(out_ + i * problem.value_dim, factors[i], task.out(queries.begin + i, head),
                          problem.value_dim);
  }

  Pieces pieces_;
  Panels keys_, values_;
  float *scores_, *out_;
  std::uint16_t *weights_, *tiles_, *draws_;
};

class BackwardHead {
 public:
  BackwardHead(const Attention& problem, std::int64_t keys, std::byte* memory) : pieces_(memory) {
    const std::int64_t rows = kBackwardRows, width = padded_keys(std::min(keys, kBackwardKeys));
    const std::int64_t dims = std::max(problem.head_dim, problem.value_dim);
    keys_.data = pieces_.take<std::uint16_t>(Panels::size(keys, problem.head_dim));
    key_steps_.data = pieces_.take<std::uint16_t>(Panels::size(problem.head_dim, keys));
    values_.data = pieces_.take<std::uint16_t>(Panels::size(keys, problem.value_dim));
    queries_.data = pieces_.take<std::uint16_t>(Panels::size(problem.head_dim, rows));
    outs_.data = pieces_.take<std::uint16_t>(Panels::size(problem.value_dim, rows));
    scores_ = pieces_.take<float>(rows * width);
    gradients_ = pieces_.take<float>(rows * width);
    rounded_ = pieces_.take<std::uint16_t>(rows * width);
    query_tiles_ = pieces_.take<std::uint16_t>(rows * padded_steps(dims));
    out_tiles_ = pieces_.take<std::uint16_t>(rows * padded_steps(dims));
    tiles_ = pieces_.take<std::uint16_t>(rows * round_up(width, kBf16Rows));
    draws_ = pieces_.take<std::uint16_t>(draws_of(problem, width));
  }
  std::size_t bytes() const { return pieces_.used(); }

  void run(const HeadTask& task) {
    const Attention& problem = task.problem;
    const std::int64_t keys = task.sequence.keys;
    key_gradient_ = task.sequence.key_gradient + task.kv_head * problem.head_dim;
    value_gradient_ = task.sequence.value_gradient + task.kv_head * problem.value_dim;
    for (std::int64_t j = 0; j < keys; ++j) {
      std::fill_n(key_gradient_ + j * problem.key_gradient_stride, problem.head_dim, 0.0f);
      std::fill_n(value_gradient_ + j * problem.value_gradient_stride, problem.value_dim, 0.0f);
    }
    keys_.pack(task.path, task.keys_as_columns());
    key_steps_.pack(task.path, task.keys_as_steps());
    values_.pack(task.path, task.values_as_columns());
    task.for_query_blocks(kBackwardRows,
                          [&](std::int64_t head, Range queries) { rows(task, head, queries); });
  }

 private:
  void rows(const HeadTask& task, std::int64_t head, Range queries) {
    const Attention& problem = task.problem;
    const std::int64_t first = task.sequence.query_begin + queries.begin, count = queries.size();
    float* query_gradient =
        problem.query_gradient + first * problem.query_gradient_stride + head * problem.head_dim;
    const float* out_gradient =
        problem.out_gradient + first * problem.out_gradient_stride + head * problem.value_dim;
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill_n(query_gradient + i * problem.query_gradient_stride, problem.head_dim, 0.0f);
      deltas_[i] = task.table.product_sum(out_gradient + i * problem.out_gradient_stride,
                                          task.out(queries.begin + i, head), problem.value_dim);
    }
    const std::int64_t keys = task.keys_of(queries.end - 1);
    if (keys == 0) return;
    const std::uint16_t* query = task.query(queries.begin, head);
    queries_as_a_ = tiles_of(
        task.path, stored_source(query, problem.query_stride, 1, count, problem.head_dim), query_tiles_);
    outs_as_a_ = tiles_of(task.path,
                          f32_source(out_gradient, problem.out_gradient_stride, 1, count, problem.value_dim),
                          out_tiles_);
    queries_.pack(task.path, stored_source(query, 1, problem.query_stride, problem.head_dim, count));
    outs_.pack(task.path, f32_source(out_gradient, 1, problem.out_gradient_stride, problem.value_dim, count));
    for (std::int64_t begin = 0; begin < keys; begin += kBackwardKeys)
      chunk(task, head, queries, {begin, std::min(keys, begin + kBackwardKeys)}, query_gradient);
  }

  // Backward pass for a range of queries and keys. With W the attention weights, D the factors of dropout and
  // dS = scale W ∘ (D ∘ dO Vᵀ − delta): dV += (W ∘ D)ᵀ dO, dQ += dS K, dK += dSᵀ Q.
  void chunk(const HeadTask& task, std::int64_t head, Range queries, Range keys, float* query_gradient) {
    const Attention& problem = task.problem;
    const std::int64_t count = queries.size(), width = padded_keys(keys.size());
    PanelProduct{queries_as_a_, count, keys, 0, problem.head_dim, scores_, width}.run(task.path, keys_);
    PanelProduct{outs_as_a_, count, keys, 0, problem.value_dim, gradients_, width}.run(task.path, values_);
    const auto row = [&](std::int64_t i) {
      const std::int64_t own =
          std::clamp<std::int64_t>(task.keys_of(queries.begin + i) - keys.begin, 0, keys.size());
      return Bf16ScoreRow{.scores = scores_ + i * width,
                          .rounded = rounded_ + i * width,
                          .count = own,
                          .padded = width,
                          .scale = problem.scale,
                          .kept = task.dropout != nullptr ? task.dropout->kept : 1.0f};
    };
    for (std::int64_t i = 0; i < count; ++i) {
      Bf16ScoreRow weights = row(i);
      task.drop(weights, queries.begin + i, head, keys.begin, draws_);
      task.path.weights_row(weights, *task.lse(queries.begin + i, head));
    }
    add_to_keys(task, count, keys, width, outs_, value_gradient_, problem.value_gradient_stride);
    for (std::int64_t i = 0; i < count; ++i)
      task.path.score_gradient_row(row(i), gradients_ + i * width, deltas_[i]);
    add_to_keys(task, count, keys, width, queries_, key_gradient_, problem.key_gradient_stride);
    const Bf16Tiles tiles =
        tiles_of(task.path, stored_source(rounded_, width, 1, count, padded_steps(keys.size())), tiles_);
    PanelProduct{tiles,       count,          {0, problem.head_dim},         keys.begin,
                 keys.size(), query_gradient, problem.query_gradient_stride, true}
        .run(task.path, key_steps_);
  }

  // Compute gradient [keys, columns of b] += roundedᵀ b.
  void add_to_keys(const HeadTask& task, std::int64_t count, Range keys, std::int64_t width, const Panels& b,
                   float* gradient, std::int64_t stride) {
    const Bf16Tiles tiles =
        tiles_of(task.path, stored_source(rounded_, 1, width, keys.size(), count), tiles_);
    PanelProduct{tiles, keys.size(), {0, b.n}, 0, count, gradient + keys.begin * stride, stride, true}.run(
        task.path, b);
  }

  Pieces pieces_;
  Panels keys_, key_steps_, values_, queries_, outs_;
  float *scores_, *gradients_;
  std::uint16_t *rounded_, *query_tiles_, *out_tiles_, *tiles_, *draws_;
  Bf16Tiles queries_as_a_, outs_as_a_;
  float *key_gradient_ = nullptr, *value_gradient_ = nullptr;
  float deltas_[kBackwardRows];
};

// Run a Head object for every key/value head of every sequence.
template <class Head>
void for_heads(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands) {
  const Bf16Table& table = bf16_functions();
  const Bf16Table::Path& path = table.of[static_cast<int>(active_bf16_path())];
  std::int64_t most_keys = 0;
  for (const AttentionSequence& sequence : problem.sequences) most_keys = std::max(most_keys, sequence.keys);
  const std::size_t bytes = Head(problem, most_keys, nullptr).bytes();
  const auto turn = pool.take_turn();
  if (turn.owns_lock()) pool.reserve_scratch(bytes);
  static thread_local std::vector<std::int64_t> rows;  // row index of the first key of each sequence
  rows.clear();
  std::int64_t row = 0;
  for (const AttentionSequence& sequence : problem.sequences) {
    rows.push_back(row);
    row += sequence.keys;
  }
  const std::vector<std::int64_t>& first = rows;
  const bool drops = problem.dropout > 0.0f;
  const AttentionDropout dropout =
      drops ? attention_dropout(problem.dropout_key, problem.dropout) : AttentionDropout{};
  const auto heads = static_cast<std::int64_t>(problem.sequences.size()) * problem.kv_heads;
  pool.parallel_for(heads, [&](std::int64_t unit, int worker) {
    const auto s = static_cast<std::size_t>(unit / problem.kv_heads);
    const std::int64_t kv_head = unit % problem.kv_heads;
    const HeadTask task{problem,
                        operands,
                        problem.sequences[s],
                        kv_head,
                        operands.key + first[s] * problem.key_stride + kv_head * problem.head_dim,
                        operands.value + first[s] * problem.value_stride + kv_head * problem.value_dim,
                        table,
                        path,
                        drops ? &dropout : nullptr};
    Head(problem, most_keys, pool.scratch(worker, bytes)).run(task);
  });
}

}  // namespace

bool bf16_attention_supports(const Attention& problem) {
  return problem.softcap == 0.0f && problem.window == 0 && problem.mask == nullptr &&
         problem.bias == nullptr && problem.head_dim > 0 && problem.value_dim > 0;
}

void bf16_attention_forward(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands) {
  for_heads<ForwardHead>(pool, problem, operands);
}

void bf16_attention_backward(ThreadPool& pool, const Attention& problem, const Bf16Operands& operands) {
  for_heads<BackwardHead>(pool, problem, operands);
}

}  // namespace regard::kernels
