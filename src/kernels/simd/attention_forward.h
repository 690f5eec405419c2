// The forward pass over panels of queries. Blocks of keys are processed in order, with the online softmax.
#pragma once

#include <cstdint>

#include "kernels/simd/attention_scores.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Keys per block. Changing this number changes the bits of results, because a row's maximum is updated and
// its sums are rescaled once per block, starting from key 0.
constexpr std::int64_t kKeyBlock = 96;
constexpr std::int64_t kPanel = kMostVectors * kLanes;
constexpr std::int64_t kForwardQueries = 384;
constexpr std::int64_t kForwardPanels = (kForwardQueries + kPanel - 1) / kPanel;

struct ForwardScratch {
  float *key = nullptr, *value = nullptr;  // [kKeyBlock, padded dim]
  float* scores = nullptr;                 // [kKeyBlock, kPanel]; overwritten by the attention weights
  float *added = nullptr, *factors = nullptr;
  float* query = nullptr;                                           // [panels, head_dim, kPanel]
  float* out = nullptr;                                             // [panels, kPanel, padded value_dim]
  float *maximum = nullptr, *sum = nullptr, *correction = nullptr;  // [panels, kPanel]
  std::size_t bytes = 0;

  ForwardScratch(const Attention& problem, std::byte* memory) {
    Carver carver(memory);
    const std::int64_t rows = kForwardPanels * kPanel;
    key = carver.floats(kKeyBlock * pad(problem.head_dim));
    value = carver.floats(kKeyBlock * pad(problem.value_dim));
    scores = carver.floats(kKeyBlock * kPanel);
    added = carver.floats(kKeyBlock * kPanel);
    factors = carver.floats(kKeyBlock * kPanel);
    query = carver.floats(rows * problem.head_dim);
    out = carver.floats(rows * pad(problem.value_dim));
    maximum = carver.floats(rows);
    sum = carver.floats(rows);
    correction = carver.floats(rows);
    bytes = carver.used();
  }
};

// A panel and the state of its online softmax. `out` is not divided by `sum` until the end; `maximum` is the
// largest log2_factor · score (ScoreRule).
struct RunningPanel {
  Panel panel;
  const float* query = nullptr;                                     // [head_dim, kPanel]
  float* out = nullptr;                                             // [kPanel, padded value_dim]
  float *maximum = nullptr, *sum = nullptr, *correction = nullptr;  // [kPanel]
  bool started = false;                                             // true if a block has been added to `out`
};

// For one vector of queries, replace the scores with exp(score − maximum) and update the running maximum and
// sum. `correction` is the factor by which running.out must be multiplied: exactly 1 if the maximum is
// unchanged.
inline void softmax_online(float log2_factor, Column scores, std::int64_t lane, const RunningPanel& running) {
  const Floats d;
  const auto factor = hn::Set(d, log2_factor), nothing = hn::Neg(hn::Inf(d));
  auto block_maximum = nothing;
  for (std::int64_t i = 0; i < scores.rows * scores.stride; i += scores.stride)
    block_maximum = hn::Max(block_maximum, hn::Load(d, scores.at + i));
  const auto before = hn::Load(d, running.maximum + lane);
  const auto maximum = hn::Max(before, hn::Mul(block_maximum, factor));
  // If the maximum is still −∞ (no visible key so far), subtract 0 instead, to avoid (−∞) − (−∞).
  const auto base = hn::IfThenZeroElse(hn::Eq(maximum, nothing), maximum);
  const auto correction = exp2_flushed(d, hn::Sub(before, base));
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < scores.rows * scores.stride; i += scores.stride) {
    const auto weight = exp2_flushed(d, hn::MulSub(hn::Load(d, scores.at + i), factor, base));
    sum = hn::Add(sum, weight);
    hn::Store(weight, d, scores.at + i);
  }
  hn::Store(maximum, d, running.maximum + lane);
  hn::Store(correction, d, running.correction + lane);
  hn::Store(hn::MulAdd(hn::Load(d, running.sum + lane), correction, sum), d, running.sum + lane);
}

inline void clear_rows(Column column, std::int64_t end) {
  for (std::int64_t row = column.rows; row < end; ++row)
    hn::Store(hn::Zero(Floats()), Floats(), column.at + row * column.stride);
}

inline void drop(Column weights, const float* factors) {
  const Floats d;
  for (std::int64_t i = 0; i < weights.rows * weights.stride; i += weights.stride)
    hn::Store(hn::Mul(hn::Load(d, weights.at + i), hn::Load(d, factors + i)), d, weights.at + i);
}

// Compute target [queries, columns] = start + tile [keys, queries]ᵀ · rows [keys, columns]. For each sliver
// of queries, the sum covers the keys that at least one of its queries may attend to.
template <Start kStart>
void multiply_by_queries(const Head& head, const Panel& panel, KeyRange keys, const float* tile, Right rows,
                         Target target, const float* correction = nullptr) {
  const std::int64_t queries = round_up(panel.queries, kRowStep);
  for_each_group(target.stride / kLanes, [&](auto group, std::int64_t vector) HWY_ATTR {
    constexpr int kVectors = decltype(group)::value;
    const std::int64_t step = sliver_rows<kVectors>(queries);
    for (std::int64_t row = 0; row < queries; row += step) {
      const std::int64_t height = smaller(step, queries - row);
      KeyRange seen = head.seen_by(panel.begin + row, panel.begin + smaller(row + height, panel.queries) - 1);
      seen = {larger(seen.begin, keys.begin), smaller(seen.end, keys.end)};
      const std::int64_t skipped = seen.empty() ? 0 : seen.begin - keys.begin;
      multiply_rows<kVectors, kStart>(height, AlongRows{tile + skipped * panel.stride + row, panel.stride},
                                      {rows.at + skipped * rows.stride + vector * kLanes, rows.stride},
                                      seen.end - seen.begin,
                                      {target.at + row * target.stride + vector * kLanes, target.stride},
                                      kStart == Start::corrected ? correction + row : nullptr);
    }
  });
}

struct ForwardPass {
  const Head& head;
  const ScoreRule& rule;
  const AttentionDropout& dropout;
  const ForwardScratch& scratch;
};

// Update one panel with the keys and values of `block`, which have been packed into scratch.
void forward_block(const ForwardPass& pass, KeyRange block, RunningPanel& running, Fetcher& ahead) {
  const Attention& problem = pass.head.problem;
  const ForwardScratch& scratch = pass.scratch;
  const Panel& panel = running.panel;
  KeyRange keys = pass.head.seen_by(panel.begin, panel.last());
  keys = {larger(keys.begin, block.begin), smaller(keys.end, block.end)};
  if (keys.empty()) return;
  const Scope scope(pass.head, panel, keys);
  const std::int64_t skipped = keys.begin - block.begin, value_width = pad(problem.value_dim);
  multiply_scores(
      panel, scope,
      {problem.head_dim, scratch.key + skipped * pad(problem.head_dim), running.query, scratch.scores},
      &ahead);
  finish_scores(pass.head, pass.rule, panel, scope, scratch.scores, scratch.added, nullptr);
  if (problem.dropout > 0.0f) gather_dropout(pass.head, pass.dropout, panel, keys, scratch.factors);
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const std::int64_t lane = vector * kLanes;
    const Column weights{scratch.scores + lane, kPanel, scope.rows(vector)};
    softmax_online(pass.rule.log2_factor, weights, lane, running);
    if (problem.dropout > 0.0f) drop(weights, scratch.factors + lane);
    clear_rows(weights, scope.count());
  }
  const Right values{scratch.value + skipped * value_width, value_width};
  const Target out{running.out, value_width};
  if (running.started) {
    multiply_by_queries<Start::corrected>(pass.head, panel, keys, scratch.scores, values, out,
                                          running.correction);
  } else {
    multiply_by_queries<Start::zero>(pass.head, panel, keys, scratch.scores, values, out);
  }
  running.started = true;
}

// Write `out` and `lse` of a panel, computed from its softmax state.
void finish_rows(const Head& head, const RunningPanel& running) {
  const Floats d;
  const Attention& problem = head.problem;
  const Panel& panel = running.panel;
  const std::int64_t width = pad(problem.value_dim);
  HWY_ALIGN float inverse[kPanel];
  HWY_ALIGN float lse[kPanel];
  if (!running.started) clear(running.out, panel.queries * width);
  for (std::int64_t lane = 0; lane < panel.vectors() * kLanes; lane += kLanes) {
    const auto sum = hn::Load(d, running.sum + lane);
    const auto empty = hn::Eq(sum, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(empty, hn::Div(hn::Set(d, 1.0f), sum)), d, inverse + lane);
    const auto whole = hn::MulAdd(hn::Load(d, running.maximum + lane), hn::Set(d, kLn2), log(d, sum));
    hn::Store(hn::IfThenElse(empty, hn::Neg(hn::Inf(d)), whole), d, lse + lane);
  }
  for (std::int64_t query = 0; query < panel.queries; ++query) {
    const std::int64_t row = head.sequence.query_begin + panel.begin + query;
    if (problem.lse != nullptr) problem.lse[row * problem.heads + head.head] = lse[query];
    float* to = problem.out + row * problem.out_stride + head.head * problem.value_dim;
    const float* from = running.out + query * width;
    const auto factor = hn::Set(d, inverse[query]);
    const auto nothing = hn::Eq(factor, hn::Zero(d));
    // Adding 0 turns −0 into +0. Otherwise the sign of a zero would depend on the number of masked keys.
    for (std::int64_t column = 0; column < problem.value_dim; column += kLanes) {
      const auto value = hn::MulAdd(hn::Load(d, from + column), factor, hn::Zero(d));
      store_first(hn::IfThenZeroElse(nothing, value), d, to + column, problem.value_dim - column);
    }
  }
}

std::size_t forward_bytes(const Attention& problem) {
  return ForwardScratch(problem, nullptr).bytes;
}

RunningPanel start_panel(const Head& head, const ForwardScratch& scratch, std::int64_t begin,
                         std::int64_t queries, std::int64_t index) {
  const Floats d;
  const Attention& problem = head.problem;
  float* query = scratch.query + index * kPanel * problem.head_dim;
  const RunningPanel running{{begin, queries, kPanel},
                             query,
                             scratch.out + index * kPanel * pad(problem.value_dim),
                             scratch.maximum + index * kPanel,
                             scratch.sum + index * kPanel,
                             scratch.correction + index * kPanel};
  copy_transposed(head.query_rows(begin, begin + queries), query, kPanel);
  for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
    hn::Store(hn::Neg(hn::Inf(d)), d, running.maximum + lane);
    hn::Store(hn::Zero(d), d, running.sum + lane);
  }
  return running;
}

Head head_of(const Attention& problem, const AttentionRows& rows) {
  return {problem, problem.sequences[static_cast<std::size_t>(rows.sequence)], rows.head};
}

void fetch_keys(const Head& head, KeyRange keys, Fetcher& ahead) {
  for_each_run(head.sequence, keys, [&](KeyRange run) {
    ahead.add(head.key_rows(run.begin, run.end), 0);
    ahead.add(head.value_rows(run.begin, run.end), 1);
  });
}

// Return the rows to prefetch during a block: the next block of keys. During the last block, these are
// instead the rows of `out` of this call, and the first keys and the queries of the next call (`following`).
Fetcher fetch_after(const Head& head, KeyRange keys, std::int64_t next, const AttentionRows& asked,
                    const AttentionRows* following, std::int64_t rows_at_once) {
  Fetcher ahead(rows_at_once);
  if (next < keys.end) {
    const std::int64_t end = smaller(next + kKeyBlock, keys.end);
    fetch_keys(head, {next, end}, ahead);
    return ahead;
  }
  ahead.add(head.out_rows(asked.query_begin, asked.query_end));
  if (following == nullptr) return ahead;
  const Head other = head_of(head.problem, *following);
  const KeyRange seen = other.seen_by(following->query_begin, following->query_end - 1);
  if (!seen.empty()) {
    const std::int64_t begin = seen.begin / kKeyBlock * kKeyBlock;
    fetch_keys(other, {begin, smaller(begin + kKeyBlock, seen.end)}, ahead);
  }
  ahead.add(other.query_rows(following->query_begin, following->query_end));
  return ahead;
}

void forward(const Attention& problem, const AttentionDropout& dropout, const AttentionRows& asked,
             const AttentionRows* following, std::byte* memory) {
  const Head head = head_of(problem, asked);
  const ForwardScratch scratch(problem, memory);
  const ScoreRule rule(problem);
  const ForwardPass pass{head, rule, dropout, scratch};
  const KeyRange keys = head.seen_by(asked.query_begin, asked.query_end - 1);

  RunningPanel panels[kForwardPanels];
  std::int64_t count = 0;
  for (std::int64_t begin = asked.query_begin; begin < asked.query_end; begin += kPanel, ++count)
    panels[count] = start_panel(head, scratch, begin, smaller(kPanel, asked.query_end - begin), count);

  for (std::int64_t begin = keys.begin / kKeyBlock * kKeyBlock; begin < keys.end; begin += kKeyBlock) {
    const KeyRange block{begin, smaller(begin + kKeyBlock, keys.end)};
    gather_keys(head, block, scratch.key);
    gather_values(head, block, scratch.value);
    Fetcher ahead =
        fetch_after(head, keys, begin + kKeyBlock, asked, following, (kMostRows[1] + count - 1) / count);
    for (std::int64_t i = 0; i < count; ++i) forward_block(pass, block, panels[i], ahead);
  }
  for (std::int64_t i = 0; i < count; ++i) finish_rows(head, panels[i]);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
