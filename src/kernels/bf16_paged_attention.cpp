// Divide attention over bf16 pages into units of work. A unit is a block of queries of one sequence, with all
// query heads that use the same key/value head.
#include "kernels/bf16_paged_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/bf16.h"
#include "kernels/bf16_pages.h"
#include "kernels/bf16_panels.h"
#include "kernels/runs.h"

namespace regard::kernels {
namespace {

constexpr std::int64_t kPagedRows = 64, kPagedRowsOfLongText = 16, kManyPagedKeys = 4096;
constexpr double kPagedWorkForThreads = 400e3;  // number of multiply-adds; below it, one thread is faster

// Return the number of queries in a unit of work. A unit has one row per query and query head.
std::int64_t queries_of_unit(const Attention& problem, std::int64_t keys) {
  const std::int64_t rows = keys > kManyPagedKeys ? kPagedRowsOfLongText : kPagedRows;
  return std::max<std::int64_t>(1, rows / (problem.heads / problem.kv_heads));
}

std::int64_t most_keys(const Attention& problem) {
  std::int64_t most = 0;
  for (const AttentionSequence& sequence : problem.sequences) most = std::max(most, sequence.keys);
  return most;
}

// Arrays for one unit of work, in a worker's scratch buffer. Rows are padded to whole tiles.
struct Scratch {
  std::uint16_t *query, *weights, *tiles;
  float *scores, *out;
  std::size_t bytes;

  Scratch(const Attention& problem, std::int64_t keys, std::byte* memory) {
    Pieces pieces(memory);
    const std::int64_t group = problem.heads / problem.kv_heads;
    const std::int64_t rows = round_up(queries_of_unit(problem, keys) * group, kBf16Rows);
    // The pages of a unit contain at most padded_steps(keys) keys.
    const std::int64_t width = padded_steps(keys), dims = padded_steps(problem.head_dim);
    query = pieces.take<std::uint16_t>(rows * dims);
    weights = pieces.take<std::uint16_t>(rows * width);
    tiles = pieces.take<std::uint16_t>(rows * std::max(width, dims));
    scores = pieces.take<float>(rows * width);
    out = pieces.take<float>(rows * problem.value_dim);
    bytes = pieces.used();
  }
};

// A unit of work: a range of queries and a range of pages. The pages contain every key to which at least one
// of these queries may attend.
class Unit {
 public:
  Unit(const Attention& problem, const AttentionSequence& sequence, std::int64_t kv_head, Range queries)
      : problem_(problem),
        sequence_(sequence),
        shape_{problem.kv_heads, problem.head_dim, problem.value_dim},
        path_(bf16_functions().of[static_cast<int>(active_bf16_path())]),
        group_(problem.heads / problem.kv_heads),
        kv_head_(kv_head),
        queries_(queries),
        rows_(queries.size() * group_) {
    Range keys{sequence.keys, 0};
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      const Range own = keys_of(query);
      if (own.size() > 0) keys = {std::min(keys.begin, own.begin), std::max(keys.end, own.end)};
    }
    if (keys.size() > 0) pages_ = {keys.begin / kBf16PageRows, ceil_divide(keys.end, kBf16PageRows)};
    width_ = pages_.size() * kBf16PageRows;
  }

  void run(const Scratch& scratch) const {
    if (width_ == 0) return write_no_keys();
    multiply_keys(scratch);
    for (std::int64_t row = 0; row < rows_; ++row) finish_scores(scratch, row);
    multiply_values(scratch);
  }

 private:
  std::int64_t query_of(std::int64_t row) const { return queries_.begin + row / group_; }
  std::int64_t head_of(std::int64_t row) const { return kv_head_ * group_ + row % group_; }

  // Return the range of keys that causality and the window allow for a query. The mask is not considered.
  Range keys_of(std::int64_t query) const {
    const std::int64_t position = query + sequence_.offset;
    std::int64_t begin = 0, end = sequence_.keys;
    if (problem_.causal) end = std::min(end, position + 1);
    if (problem_.window > 0) {
      begin = std::max<std::int64_t>(0, position - problem_.window + 1);
      end = std::min(end, position + problem_.window);
    }
    return {begin, std::max(begin, end)};
  }

  Bf16Tiles tiles(const std::uint16_t* rows, std::int64_t steps, std::uint16_t* memory) const {
    return tiles_of(path_, stored_source(rows, steps, 1, round_up(rows_, kBf16Rows), steps), memory);
  }

  // Compute scores [rows, width] = queries · keys.
  void multiply_keys(const Scratch& scratch) const {
    const std::int64_t dims = padded_steps(problem_.head_dim);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* query = problem_.query + (sequence_.query_begin + query_of(row)) * problem_.query_stride +
                           head_of(row) * problem_.head_dim;
      std::uint16_t* to = scratch.query + row * dims;
      bf16_functions().round(query, to, problem_.head_dim);
      std::fill(to + problem_.head_dim, to + dims, std::uint16_t{0});
    }
    Bf16Block block;
    block.rows = rows_, block.columns = kBf16PageRows, block.blocks = dims / kBf16Steps;
    block.a = tiles(scratch.query, dims, scratch.tiles);
    block.c = scratch.scores, block.ldc = width_;
    block.pages = {sequence_.pages.at + pages_.begin,
                   sequence_.pages.key + kv_head_ * shape_.key_numbers() / 2, pages_.size(), true};
    path_.multiply(block);
  }

  // Without keys, the output is zero and the log-sum-exp is −∞.
  void write_no_keys() const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::fill_n(out(row), problem_.value_dim, 0.0f);
      write_lse(row, {});
    }
  }

  // Compute a row's log-sum-exp and its attention weights. The weights are rounded to bf16 and not yet
  // divided by their sum.
  void finish_scores(const Scratch& scratch, std::int64_t row) const {
    const std::int64_t query = query_of(row), head = head_of(row);
    const Range own = keys_of(query);
    float* scores = scratch.scores + row * width_;
    std::uint16_t* weights = scratch.weights + row * width_;
    const std::int64_t first = std::min(width_, std::max<std::int64_t>(0, own.begin - first_key()));
    std::fill_n(weights, first, std::uint16_t{0});
    const float scale = apply_rule(scores + first, own, query, head);
    const Bf16RowSum sum =
        path_.softmax_row({scores + first, weights + first, own.size(), width_ - first, scale});
    // multiply_values() multiplies the output by this factor; the scores are no longer needed
    scores[0] = sum.sum > 0.0f ? 1.0f / sum.sum : 0.0f;
    write_lse(row, sum);
  }

  void write_lse(std::int64_t row, const Bf16RowSum& sum) const {
    if (problem_.lse == nullptr) return;
    problem_.lse[(sequence_.query_begin + query_of(row)) * problem_.heads + head_of(row)] =
        sum.sum > 0.0f ? sum.maximum + std::log(sum.sum) : -std::numeric_limits<float>::infinity();
  }

  // Apply the softcap, bias and mask, if any, to the scores of the keys `own`. Return the factor by which the
  // softmax must multiply the scores: 1 if this function has already applied the scale.
  float apply_rule(float* scores, Range own, std::int64_t query, std::int64_t head) const {
    if (problem_.softcap == 0.0f && problem_.bias == nullptr && problem_.mask == nullptr)
      return problem_.scale;
    Bf16ScoreRule rule{scores, own.size(), problem_.scale, problem_.softcap};
    if (problem_.bias != nullptr)
      rule.bias = problem_.bias + sequence_.mask_row * problem_.bias_sequence_stride +
                  head * problem_.bias_head_stride + query * problem_.bias_query_stride + own.begin;
    if (problem_.mask != nullptr)
      rule.mask = problem_.mask + sequence_.mask_row * problem_.mask_sequence_stride +
                  head * problem_.mask_head_stride + query * problem_.mask_query_stride + own.begin;
    bf16_functions().apply_rule(rule);
    return 1.0f;
  }

  // Compute out = factor · weights · values.
  void multiply_values(const Scratch& scratch) const {
    Bf16Block block;
    block.rows = rows_, block.blocks = pages_.size();
    block.a = tiles(scratch.weights, width_, scratch.tiles);
    block.ldc = problem_.value_dim;
    for (std::int64_t dim = 0; dim < problem_.value_dim; dim += kBf16PanelColumns) {
      const std::int64_t place = kv_head_ * shape_.value_numbers() + dim * kBf16PageRows;
      block.columns = std::min(kBf16PanelColumns, problem_.value_dim - dim);
      block.c = scratch.out + dim;
      block.pages = {sequence_.pages.at + pages_.begin, sequence_.pages.value + place / 2};
      path_.multiply(block);
    }
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float factor = scratch.scores[row * width_];
      const float* from = scratch.out + row * problem_.value_dim;
      float* to = out(row);
      for (std::int64_t dim = 0; dim < problem_.value_dim; ++dim) to[dim] = from[dim] * factor;
    }
  }

  float* out(std::int64_t row) const {
    return problem_.out + (sequence_.query_begin + query_of(row)) * problem_.out_stride +
           head_of(row) * problem_.value_dim;
  }
  std::int64_t first_key() const { return pages_.begin * kBf16PageRows; }

  const Attention& problem_;
  const AttentionSequence& sequence_;
  Bf16PageShape shape_;
  const Bf16Table::Path& path_;
  std::int64_t group_, kv_head_;
  Range queries_;
  std::int64_t rows_, width_ = 0;
  Range pages_{0, 0};
};

double work_of(const Attention& problem) {
  // Loading a key from memory takes about as long as its products with this many queries.
  constexpr std::int64_t kQueriesWorthKey = 8;
  double pairs = 0.0;
  for (const AttentionSequence& sequence : problem.sequences)
    if (sequence.queries > 0)
      pairs += static_cast<double>(std::max(sequence.queries, kQueriesWorthKey)) *
               static_cast<double>(sequence.keys);
  return pairs * static_cast<double>(problem.heads * (problem.head_dim + problem.value_dim));
}

}  // namespace

void bf16_paged_attention(ThreadPool& pool, const Attention& problem) {
  const std::int64_t keys = most_keys(problem), step = queries_of_unit(problem, keys);
  std::int64_t most_queries = 0;
  for (const AttentionSequence& sequence : problem.sequences)
    most_queries = std::max(most_queries, sequence.queries);
  const std::int64_t blocks = ceil_divide(most_queries, step);
  const std::int64_t heads = static_cast<std::int64_t>(problem.sequences.size()) * problem.kv_heads;
  const std::size_t bytes = Scratch(problem, keys, nullptr).bytes;
  const auto turn = pool.take_turn();
  const bool threaded = turn.owns_lock() && pool.size() > 1 && work_of(problem) >= kPagedWorkForThreads;
  if (threaded) pool.reserve_scratch(bytes);
  // The last blocks of queries are computed first, because they have the most keys if attention is causal.
  // Consecutive units use adjacent heads, whose keys are adjacent in memory.
  Runs runs(heads * blocks, threaded ? pool.size() : 1);
  const auto take = [&](std::int64_t, int worker) {
    const Scratch scratch(problem, keys, pool.scratch(worker, bytes));
    runs.take(worker, [&](std::int64_t index) {
      const std::int64_t head = index % heads, first = (blocks - 1 - index / heads) * step;
      const AttentionSequence& sequence =
          problem.sequences[static_cast<std::size_t>(head / problem.kv_heads)];
      const Range queries{first, std::min(sequence.queries, first + step)};
      if (queries.size() > 0) Unit(problem, sequence, head % problem.kv_heads, queries).run(scratch);
    });
  };
  threaded ? pool.parallel_for(pool.size(), take) : take(0, pool.current_worker());
}

}  // namespace regard::kernels
