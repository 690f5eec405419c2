// The backward pass over a range of keys of one sequence and key head. With P the weights, D the factors of
// dropout and δ_i = Σ dout_i out_i:
//   dV = (P ∘ D)ᵀ dout,  dP = D ∘ (dout Vᵀ),  dS = P ∘ (dP − δ),  dQ = scale dS K,  dK = scale dSᵀ Q
// P is computed again from q, k and the log-sum-exp. Every gradient is one chain: keys in order for dQ, heads
// and queries in order for dK and dV.
#pragma once

#include <cstdint>

#include "kernels/simd/attention_forward.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Keys in one call: their gradients stay near while all queries pass; a panel of queries is arranged once.
constexpr std::int64_t kBackwardKeys = 4 * kKeyBlock;

struct BackwardScratch {
  float *key = nullptr, *value = nullptr;                    // [kBackwardKeys, padded dim]
  float *key_gradient = nullptr, *value_gradient = nullptr;  // the same
  float *query_columns = nullptr, *out_columns = nullptr;    // [dim, kPanel]: q and d out
  float *query_rows = nullptr, *out_rows = nullptr;          // [kPanel, padded dim]: q and d out
  float* query_gradient = nullptr;                           // [kPanel, padded head_dim]
  float *weights = nullptr, *scores = nullptr;               // [kKeyBlock, kPanel]: P, dP and dS
  float *added = nullptr, *factors = nullptr, *slope = nullptr;
  float *lse = nullptr, *delta = nullptr;  // [kPanel]; lse in powers of two
  std::size_t bytes = 0;

  BackwardScratch(const Attention& problem, std::byte* memory) {
    Carver carver(memory);
    const std::int64_t key_width = pad(problem.head_dim), value_width = pad(problem.value_dim);
    key = carver.floats(kBackwardKeys * key_width);
    value = carver.floats(kBackwardKeys * value_width);
    key_gradient = carver.floats(kBackwardKeys * key_width);
    value_gradient = carver.floats(kBackwardKeys * value_width);
    query_columns = carver.floats(kPanel * problem.head_dim);
    out_columns = carver.floats(kPanel * problem.value_dim);
    query_rows = carver.floats(kPanel * key_width);
    out_rows = carver.floats(kPanel * value_width);
    query_gradient = carver.floats(kPanel * key_width);
    weights = carver.floats(kKeyBlock * kPanel);
    scores = carver.floats(kKeyBlock * kPanel);
    added = carver.floats(kKeyBlock * kPanel);
    factors = carver.floats(kKeyBlock * kPanel);
    slope = carver.floats(kKeyBlock * kPanel);
    lse = carver.floats(kPanel);
    delta = carver.floats(kPanel);
    bytes = carver.used();
  }
};

// rows [count, columns] of memory = rows of scratch.
inline void store_rows(const float* from, std::int64_t count, std::int64_t columns, float* to,
                       std::int64_t stride) {
  const Floats d;
  const std::int64_t width = pad(columns);
  for (std::int64_t row = 0; row < count; ++row)
    for (std::int64_t column = 0; column < columns; column += kLanes)
      store_first(hn::Load(d, from + row * width + column), d, to + row * stride + column, columns - column);
}

inline void clear(float* at, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kLanes) hn::Store(hn::Zero(Floats()), Floats(), at + i);
}

// lse of a panel in powers of two; +∞ for rows that have seen nothing and for lanes without a query, whose
// weights so become 0.
inline void gather_lse(const Head& head, const Panel& panel, float* lse) {
  const float infinity = hn::GetLane(hn::Inf(Floats()));
  for (std::int64_t query = 0; query < kPanel; ++query) {
    lse[query] = infinity;
    if (query >= panel.queries) continue;
    const std::int64_t row = head.sequence.query_begin + panel.begin + query;
    const float natural = head.problem.lse[row * head.problem.heads + head.head];
    if (natural != -infinity) lse[query] = natural * kLog2e;
  }
}

// weights = exp(score − lse)
inline void weights_from_lse(float log2_factor, std::int64_t vectors, std::int64_t count, const float* lse,
                             float* scores) {
  const Floats d;
  const auto factor = hn::Set(d, log2_factor);
  for (std::int64_t vector = 0; vector < vectors; ++vector) {
    const auto base = hn::Load(d, lse + vector * kLanes);
    for (std::int64_t key = 0; key < count; ++key) {
      float* at = scores + key * kPanel + vector * kLanes;
      hn::Store(exp2_flushed(d, hn::MulSub(hn::Load(d, at), factor, base)), d, at);
    }
  }
}

inline void gather_queries(const Head& head, const Panel& panel, const BackwardScratch& scratch) {
  const Floats d;
  const Attention& problem = head.problem;
  const std::int64_t row = head.sequence.query_begin + panel.begin;
  const float* out = problem.out + row * problem.out_stride + head.head * problem.value_dim;
  const float* out_gradient =
      problem.out_gradient + row * problem.out_gradient_stride + head.head * problem.value_dim;
  copy_transposed(head.query(panel.begin), problem.query_stride, panel.queries, problem.head_dim,
                  scratch.query_columns, kPanel);
  copy_transposed(out_gradient, problem.out_gradient_stride, panel.queries, problem.value_dim,
                  scratch.out_columns, kPanel);
  copy_rows(head.query(panel.begin), problem.query_stride, panel.queries, problem.head_dim,
            scratch.query_rows);
  copy_rows(out_gradient, problem.out_gradient_stride, panel.queries, problem.value_dim, scratch.out_rows);
  gather_lse(head, panel, scratch.lse);
  for (std::int64_t query = 0; query < kPanel; ++query) scratch.delta[query] = 0.0f;
  const std::int64_t width = pad(problem.value_dim);
  for (std::int64_t query = 0; query < panel.queries; ++query) {
    auto sum = hn::Zero(d);
    for (std::int64_t column = 0; column < problem.value_dim; column += kLanes)
      sum = hn::MulAdd(load_first(d, out + query * problem.out_stride + column, problem.value_dim - column),
                       hn::Load(d, scratch.out_rows + query * width + column), sum);
    scratch.delta[query] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

// bias_gradient += dS, queries in order.
void add_bias_gradient(const Head& head, const Panel& panel, KeyRange keys, const float* gradient,
                       float* transposed) {
  const Floats d;
  const Attention& problem = head.problem;
  const std::int64_t count = keys.end - keys.begin, width = pad(count);
  float* to = problem.bias_gradient + head.sequence.mask_row * problem.bias_sequence_stride +
              head.head * problem.bias_head_stride + panel.begin * problem.bias_query_stride + keys.begin;
  copy_transposed(gradient, kPanel, count, panel.queries, transposed, width);
  for (std::int64_t query = 0; query < panel.queries; ++query, to += problem.bias_query_stride)
    for (std::int64_t key = 0; key < count; key += kLanes)
      store_first(
          hn::Add(load_first(d, to + key, count - key), hn::Load(d, transposed + query * width + key)), d,
          to + key, count - key);
}

// From weights and dP (in scores): weights become P ∘ D, scores become dS, times scale and the softcap's
// slope unless a bias wants it before them.
void score_gradients(const Head& head, const Panel& panel, std::int64_t count,
                     const BackwardScratch& scratch) {
  const Floats d;
  const Attention& problem = head.problem;
  const auto scale = hn::Set(d, problem.bias_gradient != nullptr ? 1.0f : problem.scale);
  const bool capped = problem.softcap > 0.0f && problem.bias_gradient == nullptr;
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const auto delta = hn::Load(d, scratch.delta + vector * kLanes);
    for (std::int64_t key = 0; key < count; ++key) {
      const std::int64_t at = key * kPanel + vector * kLanes;
      const auto weight = hn::Load(d, scratch.weights + at);
      auto gradient = hn::Load(d, scratch.scores + at);
      if (problem.dropout > 0.0f) {
        const auto factor = hn::Load(d, scratch.factors + at);
        gradient = hn::Mul(gradient, factor);
        hn::Store(hn::Mul(weight, factor), d, scratch.weights + at);
      }
      gradient = hn::Mul(hn::Mul(weight, hn::Sub(gradient, delta)), scale);
      if (capped) gradient = hn::Mul(gradient, hn::Load(d, scratch.slope + at));
      hn::Store(gradient, d, scratch.scores + at);
    }
  }
}

// scores *= scale and the softcap's slope, where score_gradients left them out.
void scale_gradients(const Attention& problem, std::int64_t count, const BackwardScratch& scratch) {
  const Floats d;
  const auto scale = hn::Set(d, problem.scale);
  for (std::int64_t i = 0; i < count * kPanel; i += kLanes) {
    auto gradient = hn::Mul(hn::Load(d, scratch.scores + i), scale);
    if (problem.softcap > 0.0f) gradient = hn::Mul(gradient, hn::Load(d, scratch.slope + i));
    hn::Store(gradient, d, scratch.scores + i);
  }
}

// d rows [keys, width] += tile [keys, kPanel] · queries [queries, width]
inline void add_key_side(const Panel& panel, std::int64_t count, std::int64_t width, const float* tile,
                         const float* queries, float* gradient) {
  Operands operands;
  operands.k = panel.queries;
  operands.a = tile;
  operands.a_stride = kPanel;
  operands.b = queries;
  operands.b_stride = width;
  operands.c = gradient;
  operands.ldc = width;
  operands.accumulate = true;
  multiply_block<Layout::along_k>(round_up(count, kRowStep), width / kLanes, operands);
}

// One panel against one block of keys; `start` is the first key of the call, at row 0 of the scratch.
void backward_block(const Head& head, const ScoreRule& rule, const AttentionDropout& dropout,
                    const Panel& panel, std::int64_t start, KeyRange keys, const BackwardScratch& scratch) {
  const Attention& problem = head.problem;
  const std::int64_t key_width = pad(problem.head_dim), value_width = pad(problem.value_dim);
  const std::int64_t first = keys.begin - start, count = keys.end - keys.begin;
  const float* key = scratch.key + first * key_width;
  multiply_scores(problem.head_dim, key, scratch.query_columns, panel.vectors(), count, scratch.weights);
  finish_scores(head, rule, panel, keys, scratch.weights, scratch.added, scratch.slope);
  weights_from_lse(rule.log2_factor, panel.vectors(), count, scratch.lse, scratch.weights);
  multiply_scores(problem.value_dim, scratch.value + first * value_width, scratch.out_columns,
                  panel.vectors(), count, scratch.scores);
  if (problem.dropout > 0.0f) gather_dropout(head, dropout, panel, keys, scratch.factors);
  score_gradients(head, panel, count, scratch);
  if (problem.bias_gradient != nullptr) {
    add_bias_gradient(head, panel, keys, scratch.scores, scratch.added);
    scale_gradients(problem, count, scratch);
  }
  // The row that makes the count even belongs to a key that this panel does not see.
  if (count % kRowStep != 0) {
    clear(scratch.weights + count * kPanel, kPanel);
    clear(scratch.scores + count * kPanel, kPanel);
  }
  add_key_side(panel, count, value_width, scratch.weights, scratch.out_rows,
               scratch.value_gradient + first * value_width);
  add_key_side(panel, count, key_width, scratch.scores, scratch.query_rows,
               scratch.key_gradient + first * key_width);
  Operands operands;
  operands.k = count;
  operands.a = scratch.scores;
  operands.a_stride = kPanel;
  operands.b = key;
  operands.b_stride = key_width;
  operands.c = scratch.query_gradient;
  operands.ldc = key_width;
  operands.accumulate = true;
  multiply_block<Layout::along_rows>(round_up(panel.queries, kRowStep), key_width / kLanes, operands);
}

// All queries of one head against the keys of the call.
void backward_head(const Head& head, const AttentionDropout& dropout, const AttentionColumns& columns,
                   const BackwardScratch& scratch) {
  const Attention& problem = head.problem;
  const ScoreRule rule(problem);
  for (std::int64_t begin = 0; begin < head.sequence.queries; begin += kPanel) {
    const Panel panel{begin, smaller(kPanel, head.sequence.queries - begin)};
    float* gradient = problem.query_gradient +
                      (head.sequence.query_begin + begin) * problem.query_gradient_stride +
                      head.head * problem.head_dim;
    KeyRange keys = head.seen_by(panel.begin, panel.last());
    keys = {larger(keys.begin, columns.key_begin), smaller(keys.end, columns.key_end)};
    const bool first_call = columns.key_begin == 0;
    if (keys.empty() && !first_call) continue;
    if (first_call) {
      clear(scratch.query_gradient, kPanel * pad(problem.head_dim));
    } else {
      copy_rows(gradient, problem.query_gradient_stride, panel.queries, problem.head_dim,
                scratch.query_gradient);
    }
    if (!keys.empty()) gather_queries(head, panel, scratch);
    for (std::int64_t at = keys.begin / kKeyBlock * kKeyBlock; at < keys.end; at += kKeyBlock) {
      const KeyRange block{larger(at, keys.begin), smaller(at + kKeyBlock, keys.end)};
      backward_block(head, rule, dropout, panel, columns.key_begin, block, scratch);
    }
    store_rows(scratch.query_gradient, panel.queries, problem.head_dim, gradient,
               problem.query_gradient_stride);
  }
}

std::size_t backward_bytes(const Attention& problem) {
  return BackwardScratch(problem, nullptr).bytes;
}

void backward(const Attention& problem, const AttentionDropout& dropout, const AttentionColumns& columns,
              std::byte* memory) {
  const BackwardScratch scratch(problem, memory);
  const AttentionSequence& sequence = problem.sequences[static_cast<std::size_t>(columns.sequence)];
  const std::int64_t group = problem.heads / problem.kv_heads, count = columns.key_end - columns.key_begin;
  const Head any{problem, sequence, columns.kv_head * group};
  if (count > 0) {
    copy_rows(any.key(columns.key_begin), problem.key_stride, count, problem.head_dim, scratch.key);
    copy_rows(any.value(columns.key_begin), problem.value_stride, count, problem.value_dim, scratch.value);
    clear(scratch.key_gradient, round_up(count, kRowStep) * pad(problem.head_dim));
    clear(scratch.value_gradient, round_up(count, kRowStep) * pad(problem.value_dim));
  }
  for (std::int64_t member = 0; member < group; ++member)
    backward_head({problem, sequence, columns.kv_head * group + member}, dropout, columns, scratch);
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
