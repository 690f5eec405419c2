// The backward pass over a range of keys of one sequence and key/value head. With P the attention weights, D
// the factors of dropout and δ_i = Σ dout_i out_i:
//   dV = (P ∘ D)ᵀ dout,  dP = D ∘ (dout Vᵀ),  dS = P ∘ (dP − δ),  dQ = scale dS K,  dK = scale dSᵀ Q
// P is recomputed from q, k and the log-sum-exp. Every gradient is accumulated in one fixed order: by key for
// dQ, by head and query for dK and dV.
#pragma once

#include <cstdint>

#include "kernels/simd/attention_forward.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Maximum number of keys per call; the gradients of these keys stay in cache while all queries are processed.
// Each panel of queries is packed once per call.
constexpr std::int64_t kBackwardKeys = 384;
// A tile is [kBackwardBlock, kBackwardPanel]. It has more queries than keys, because the products for dK and
// dV sum over queries, and only the product for dQ sums over keys.
constexpr std::int64_t kBackwardBlock = 48;
constexpr std::int64_t kBackwardPanel = 96;

struct BackwardScratch {
  float *key = nullptr, *value = nullptr;                    // [kBackwardKeys, padded dim]
  float *key_gradient = nullptr, *value_gradient = nullptr;  // [kBackwardKeys, padded dim]
  float *query_columns = nullptr, *out_columns = nullptr;    // [dim, kBackwardPanel]: q and dout
  float *query_rows = nullptr, *out_rows = nullptr;          // [kBackwardPanel, padded dim]: q and dout
  float* query_gradient = nullptr;                           // [kBackwardPanel, padded head_dim]
  float *weights = nullptr, *scores = nullptr;  // [kBackwardBlock, kBackwardPanel]: tiles of P, dP and dS
  float *added = nullptr, *factors = nullptr, *slope = nullptr;
  float *lse = nullptr, *delta = nullptr;  // [kBackwardPanel]; lse: log-sum-exp in base 2
  std::size_t bytes = 0;

  BackwardScratch(const Attention& problem, std::byte* memory) {
    Carver carver(memory);
    const std::int64_t key_width = pad(problem.head_dim), value_width = pad(problem.value_dim);
    key = carver.floats(kBackwardKeys * key_width);
    value = carver.floats(kBackwardKeys * value_width);
    key_gradient = carver.floats(kBackwardKeys * key_width);
    value_gradient = carver.floats(kBackwardKeys * value_width);
    query_columns = carver.floats(kBackwardPanel * problem.head_dim);
    out_columns = carver.floats(kBackwardPanel * problem.value_dim);
    query_rows = carver.floats(kBackwardPanel * key_width);
    out_rows = carver.floats(kBackwardPanel * value_width);
    query_gradient = carver.floats(kBackwardPanel * key_width);
    weights = carver.floats(kBackwardBlock * kBackwardPanel);
    scores = carver.floats(kBackwardBlock * kBackwardPanel);
    added = carver.floats(kBackwardBlock * kBackwardPanel);
    factors = carver.floats(kBackwardBlock * kBackwardPanel);
    slope = carver.floats(kBackwardBlock * kBackwardPanel);
    lse = carver.floats(kBackwardPanel);
    delta = carver.floats(kBackwardPanel);
    bytes = carver.used();
  }
};

// Copy the lse of a panel, converted to base 2. It is set to +∞ for rows that may attend to no key and for
// lanes without a query, so that their weights are 0.
inline void gather_lse(const Head& head, const Panel& panel, float* lse) {
  const float infinity = hn::GetLane(hn::Inf(Floats()));
  for (std::int64_t query = 0; query < panel.stride; ++query) {
    lse[query] = infinity;
    if (query >= panel.queries) continue;
    const std::int64_t row = head.sequence.query_begin + panel.begin + query;
    const float natural = head.problem.lse[row * head.problem.heads + head.head];
    if (natural != -infinity) lse[query] = natural * kLog2e;
  }
}

// Replace scores with the attention weights exp(score − lse), where lse is the log-sum-exp of the query.
inline void weights_from_lse(float log2_factor, Column scores, const float* lse) {
  const Floats d;
  const auto factor = hn::Set(d, log2_factor), base = hn::Load(d, lse);
  for (std::int64_t i = 0; i < scores.rows * scores.stride; i += scores.stride)
    hn::Store(exp2_flushed(d, hn::MulSub(hn::Load(d, scores.at + i), factor, base)), d, scores.at + i);
}

inline Rows out_gradient_rows(const Head& head, std::int64_t begin, std::int64_t end) {
  const Attention& problem = head.problem;
  return {problem.out_gradient + (head.sequence.query_begin + begin) * problem.out_gradient_stride +
              head.head * problem.value_dim,
          problem.out_gradient_stride, end - begin, problem.value_dim};
}

inline void gather_queries(const Head& head, const Panel& panel, const BackwardScratch& scratch) {
  const Floats d;
  const Attention& problem = head.problem;
  const std::int64_t end = panel.begin + panel.queries, width = pad(problem.value_dim);
  const Rows query = head.query_rows(panel.begin, end), out = head.out_rows(panel.begin, end);
  const Rows out_gradient = out_gradient_rows(head, panel.begin, end);
  copy_transposed(query, scratch.query_columns, panel.stride);
  copy_transposed(out_gradient, scratch.out_columns, panel.stride);
  copy_rows(query, scratch.query_rows);
  copy_rows(out_gradient, scratch.out_rows);
  gather_lse(head, panel, scratch.lse);
  clear(scratch.delta, panel.stride);
  for (std::int64_t row = 0; row < panel.queries; ++row) {
    auto sum = hn::Zero(d);
    for (std::int64_t column = 0; column < out.columns; column += kLanes)
      sum = hn::MulAdd(load_first(d, out.at + row * out.stride + column, out.columns - column),
                       hn::Load(d, scratch.out_rows + row * width + column), sum);
    scratch.delta[row] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// Add dS to bias_gradient in the order of queries. `transposed` is scratch memory.
void add_bias_gradient(const Head& head, const Panel& panel, KeyRange keys, const float* gradient,
                       float* transposed) {
  const Floats d;
  const Attention& problem = head.problem;
  const std::int64_t count = keys.end - keys.begin, width = pad(count);
  float* to = problem.bias_gradient + head.sequence.mask_row * problem.bias_sequence_stride +
              head.head * problem.bias_head_stride + panel.begin * problem.bias_query_stride + keys.begin;
  copy_transposed({gradient, kBackwardPanel, count, panel.queries}, transposed, width);
  for (std::int64_t query = 0; query < panel.queries; ++query, to += problem.bias_query_stride)
    for (std::int64_t key = 0; key < count; key += kLanes)
      store_first(
          hn::Add(load_first(d, to + key, count - key), hn::Load(d, transposed + query * width + key)), d,
          to + key, count - key);
}

// For one vector of queries, replace q · k with P ∘ D in `weights`, and dout · v with dS in `scores`. Without
// a bias gradient, also multiply dS by the scale and the softcap's derivative. A bias gradient requires dS
// without these factors.
void score_gradients(const Attention& problem, const ScoreRule& rule, const BackwardScratch& scratch,
                     std::int64_t lane, std::int64_t rows) {
  const Floats d;
  const bool raw = problem.bias_gradient != nullptr, capped = problem.softcap > 0.0f && !raw;
  const auto factor = hn::Set(d, rule.log2_factor), scale = hn::Set(d, raw ? 1.0f : problem.scale);
  const auto lse = hn::Load(d, scratch.lse + lane), delta = hn::Load(d, scratch.delta + lane);
  for (std::int64_t at = lane; at < lane + rows * kBackwardPanel; at += kBackwardPanel) {
    auto weight = exp2_flushed(d, hn::MulSub(hn::Load(d, scratch.weights + at), factor, lse));
    auto gradient = hn::Load(d, scratch.scores + at);
    auto used = weight;
    if (problem.dropout > 0.0f) {
      const auto kept = hn::Load(d, scratch.factors + at);
      gradient = hn::Mul(gradient, kept);
      used = hn::Mul(weight, kept);
    }
    gradient = hn::Mul(hn::Mul(weight, hn::Sub(gradient, delta)), scale);
    if (capped) gradient = hn::Mul(gradient, hn::Load(d, scratch.slope + at));
    hn::Store(used, d, scratch.weights + at);
    hn::Store(gradient, d, scratch.scores + at);
  }
}

// Multiply dS in `scores` by the scale and the softcap's derivative. Used only with a bias gradient, because
// score_gradients() applies both factors otherwise.
void scale_gradients(const Attention& problem, std::int64_t lane, std::int64_t rows,
                     const BackwardScratch& scratch) {
  const Floats d;
  const auto scale = hn::Set(d, problem.scale);
  for (std::int64_t at = lane; at < lane + rows * kBackwardPanel; at += kBackwardPanel) {
    auto gradient = hn::Mul(hn::Load(d, scratch.scores + at), scale);
    if (problem.softcap > 0.0f) gradient = hn::Mul(gradient, hn::Load(d, scratch.slope + at));
    hn::Store(gradient, d, scratch.scores + at);
  }
}

// Compute gradient [keys, width] += tile [keys, queries] · rows [queries, width]. With a causal mask, the sum
// for each sliver of keys starts at the first query that may attend to one of them.
void add_key_side(const Head& head, const Panel& panel, KeyRange keys, const float* tile, Right rows,
                  Target gradient) {
  const std::int64_t count = round_up(keys.end - keys.begin, kRowStep);
  for_each_group(gradient.stride / kLanes, [&](auto group, std::int64_t vector) HWY_ATTR {
    constexpr int kVectors = decltype(group)::value;
    const std::int64_t step = sliver_rows<kVectors>(count);
    for (std::int64_t row = 0; row < count; row += step) {
      const std::int64_t first =
          head.problem.causal ? larger(0, keys.begin + row - head.sequence.offset - panel.begin) : 0;
      multiply_rows<kVectors, Start::target>(
          smaller(step, count - row), AlongKFixed<kBackwardPanel>{tile + row * kBackwardPanel + first},
          {rows.at + first * rows.stride + vector * kLanes, rows.stride}, panel.queries - first,
          {gradient.at + row * gradient.stride + vector * kLanes, gradient.stride});
    }
  });
}

struct BackwardPass {
  const Head& head;
  const ScoreRule& rule;
  const AttentionDropout& dropout;
  const BackwardScratch& scratch;
  std::int64_t start;  // index of the first key of the call, which is row 0 of the scratch memory
};

// Compute the tiles P ∘ D and dS for one panel and one block of keys, from q, k, v and dout.
void backward_tiles(const BackwardPass& pass, const Panel& panel, KeyRange keys, Fetcher& ahead) {
  const Attention& problem = pass.head.problem;
  const BackwardScratch& scratch = pass.scratch;
  const Scope scope(pass.head, panel, keys);
  const std::int64_t first = keys.begin - pass.start;
  multiply_scores(
      panel, scope,
      {problem.head_dim, scratch.key + first * pad(problem.head_dim), scratch.query_columns, scratch.weights},
      nullptr);
  multiply_scores(panel, scope,
                  {problem.value_dim, scratch.value + first * pad(problem.value_dim), scratch.out_columns,
                   scratch.scores},
                  &ahead);
  finish_scores(pass.head, pass.rule, panel, scope, scratch.weights, scratch.added, scratch.slope);
  if (problem.dropout > 0.0f) gather_dropout(pass.head, pass.dropout, panel, keys, scratch.factors);
  // Clear the rows that score_gradients() does not compute, up to an even number of rows.
  const std::int64_t end = round_up(scope.count(), kRowStep);
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const std::int64_t lane = vector * kLanes, rows = scope.rows(vector);
    score_gradients(problem, pass.rule, scratch, lane, rows);
    clear_rows({scratch.weights + lane, kBackwardPanel, rows}, end);
    clear_rows({scratch.scores + lane, kBackwardPanel, rows}, end);
  }
  if (problem.bias_gradient == nullptr) return;
  add_bias_gradient(pass.head, panel, keys, scratch.scores, scratch.added);
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector)
    scale_gradients(problem, vector * kLanes, scope.rows(vector), scratch);
}

void backward_block(const BackwardPass& pass, const Panel& panel, KeyRange keys, Fetcher& ahead) {
  const BackwardScratch& scratch = pass.scratch;
  const std::int64_t key_width = pad(pass.head.problem.head_dim), first = keys.begin - pass.start;
  const std::int64_t value_width = pad(pass.head.problem.value_dim);
  backward_tiles(pass, panel, keys, ahead);
  add_key_side(pass.head, panel, keys, scratch.weights, {scratch.out_rows, value_width},
               {scratch.value_gradient + first * value_width, value_width});
  add_key_side(pass.head, panel, keys, scratch.scores, {scratch.query_rows, key_width},
               {scratch.key_gradient + first * key_width, key_width});
  multiply_by_queries<Start::target>(pass.head, panel, keys, scratch.scores,
                                     {scratch.key + first * key_width, key_width},
                                     {scratch.query_gradient, key_width});
}

// Add the rows of the panel that starts at query `begin` to the rows that `ahead` prefetches.
inline void add_panel(Fetcher& ahead, const Head& head, std::int64_t begin) {
  const std::int64_t end = smaller(begin + kBackwardPanel, head.sequence.queries);
  if (begin >= end) return;
  ahead.add(head.query_rows(begin, end));
  ahead.add(head.out_rows(begin, end));
  ahead.add(out_gradient_rows(head, begin, end));
}

Head first_head(const Attention& problem, const AttentionColumns& columns) {
  return {problem, problem.sequences[static_cast<std::size_t>(columns.sequence)],
          columns.kv_head * (problem.heads / problem.kv_heads)};
}

// Find the first panel at or after `begin` with a query that may attend to a key in [columns.key_begin,
// columns.key_end), and return its start. If there is none, return a value at or beyond the end of the
// queries.
inline std::int64_t next_panel(const Head& head, const AttentionColumns& columns, std::int64_t begin) {
  for (; begin < head.sequence.queries; begin += kBackwardPanel) {
    const KeyRange keys = head.seen_by(begin, smaller(begin + kBackwardPanel, head.sequence.queries) - 1);
    if (larger(keys.begin, columns.key_begin) < smaller(keys.end, columns.key_end)) break;
  }
  return begin;
}

// Return the rows to prefetch during a panel: the rows of the next panel, or the first rows of the next call.
// The next panel may belong to the next query head.
Fetcher fetch_after(const Head& head, const AttentionColumns& columns, const Panel& panel,
                    const AttentionColumns* following) {
  const std::int64_t blocks = (columns.key_end - columns.key_begin) / kBackwardBlock + 1;
  Fetcher ahead(kBackwardPanel / (8 * blocks) + 1);
  const std::int64_t next = next_panel(head, columns, panel.begin + kBackwardPanel);
  const std::int64_t group = head.problem.heads / head.problem.kv_heads;
  if (next < head.sequence.queries) {
    add_panel(ahead, head, next);
  } else if (head.head + 1 < (head.kv_head() + 1) * group) {
    const Head other{head.problem, head.sequence, head.head + 1};
    add_panel(ahead, other, next_panel(other, columns, 0));
  } else if (following != nullptr) {
    const Head other = first_head(head.problem, *following);
    ahead.add(other.key_rows(following->key_begin, following->key_end));
    ahead.add(other.value_rows(following->key_begin, following->key_end));
    add_panel(ahead, other, next_panel(other, *following, 0));
  }
  return ahead;
}

// Add the contributions of one panel and one chunk of keys (`columns`) to dQ, dK and dV. The first chunk of
// keys overwrites the panel's dQ, even if no query of the panel may attend to a key of the chunk.
void backward_panel(const BackwardPass& pass, const AttentionColumns& columns, const Panel& panel,
                    Fetcher& ahead) {
  const Head& head = pass.head;
  const Attention& problem = head.problem;
  const KeyRange seen = head.seen_by(panel.begin, panel.last());
  const KeyRange keys{larger(seen.begin, columns.key_begin), smaller(seen.end, columns.key_end)};
  const bool first_chunk = columns.key_begin == 0;
  if (keys.empty() && !first_chunk) return;
  float* gradient = problem.query_gradient +
                    (head.sequence.query_begin + panel.begin) * problem.query_gradient_stride +
                    head.head * problem.head_dim;
  const std::int64_t panels = (head.sequence.queries + kBackwardPanel - 1) / kBackwardPanel;
  const std::int64_t group = problem.heads / problem.kv_heads;
  const std::int64_t slot = head.head % group * panels + panel.begin / kBackwardPanel;
  if (columns.turns != nullptr && !first_chunk) {
    // Wait until all earlier key chunks that update the gradients of this panel are finished. These are the
    // first chunk and the chunks with keys that queries of the panel may attend to.
    const std::int64_t first_seen = larger(1, seen.begin / kBackwardKeys);
    columns.turns->wait(slot, 1 + columns.key_begin / kBackwardKeys - first_seen);
  }
  if (first_chunk) {
    clear(pass.scratch.query_gradient, kBackwardPanel * pad(problem.head_dim));
  } else {
    copy_rows({gradient, problem.query_gradient_stride, panel.queries, problem.head_dim},
              pass.scratch.query_gradient);
  }
  if (!keys.empty()) gather_queries(head, panel, pass.scratch);
  for (std::int64_t at = keys.begin / kBackwardBlock * kBackwardBlock; at < keys.end; at += kBackwardBlock) {
    const KeyRange block{larger(at, keys.begin), smaller(at + kBackwardBlock, keys.end)};
    backward_block(pass, panel, block, ahead);
  }
  store_rows(pass.scratch.query_gradient, panel.queries, problem.head_dim, gradient,
             problem.query_gradient_stride);
  if (columns.turns != nullptr) columns.turns->done(slot);
}

std::size_t backward_bytes(const Attention& problem) {
  return BackwardScratch(problem, nullptr).bytes;
}

void backward(const Attention& problem, const AttentionDropout& dropout, const AttentionColumns& columns,
              const AttentionColumns* following, std::byte* memory) {
  const BackwardScratch scratch(problem, memory);
  const ScoreRule rule(problem);
  const std::int64_t group = problem.heads / problem.kv_heads, count = columns.key_end - columns.key_begin;
  Head head = first_head(problem, columns);
  const AttentionSequence& sequence = head.sequence;
  if (count > 0) {
    copy_rows(head.key_rows(columns.key_begin, columns.key_end), scratch.key);
    copy_rows(head.value_rows(columns.key_begin, columns.key_end), scratch.value);
    clear(scratch.key_gradient, round_up(count, kRowStep) * pad(problem.head_dim));
    clear(scratch.value_gradient, round_up(count, kRowStep) * pad(problem.value_dim));
  }
  for (std::int64_t member = 0; member < group; ++member, ++head.head) {
    const BackwardPass pass{head, rule, dropout, scratch, columns.key_begin};
    for (std::int64_t begin = 0; begin < sequence.queries; begin += kBackwardPanel) {
      const Panel panel{begin, smaller(kBackwardPanel, sequence.queries - begin), kBackwardPanel};
      Fetcher ahead = fetch_after(head, columns, panel, following);
      backward_panel(pass, columns, panel, ahead);
    }
  }
  if (count == 0) return;
  store_rows(scratch.key_gradient, count, problem.head_dim,
             sequence.key_gradient + columns.key_begin * problem.key_gradient_stride +
                 columns.kv_head * problem.head_dim,
             problem.key_gradient_stride);
  store_rows(scratch.value_gradient, count, problem.value_dim,
             sequence.value_gradient + columns.key_begin * problem.value_gradient_stride +
                 columns.kv_head * problem.value_dim,
             problem.value_gradient_stride);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
