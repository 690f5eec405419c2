// The forward pass over a few panels of queries: key block after key block, the softmax online.
#pragma once

#include <cstdint>

#include "kernels/simd/attention_scores.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Keys in a block. Part of the meaning: a row's maximum is looked up, and its sums rescaled, block by block
// from key 0 on.
constexpr std::int64_t kKeyBlock = 96;
constexpr std::int64_t kForwardQueries = 192;
constexpr std::int64_t kForwardPanels = (kForwardQueries + kPanel - 1) / kPanel;

struct ForwardScratch {
  float *key = nullptr, *value = nullptr;  // [kKeyBlock, padded dim], one block
  float* scores = nullptr;                 // [kKeyBlock, kPanel]; becomes the weights
  float *added = nullptr, *factors = nullptr;
  float* query = nullptr;                                           // [panels] of [head_dim, kPanel]
  float* out = nullptr;                                             // [panels] of [kPanel, padded value_dim]
  float *maximum = nullptr, *sum = nullptr, *correction = nullptr;  // [panels] of [kPanel]
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

// A panel's running state: out is not yet divided by sum; maximum is in powers of two.
struct RunningRows {
  const float* query;                 // [head_dim, kPanel]
  float* out;                         // [kPanel, padded value_dim]
  float *maximum, *sum, *correction;  // [kPanel]
};

// scores [keys, kPanel] = keys · queries for those of the block that the panel may see.
inline void multiply_scores(std::int64_t head_dim, const float* key, const float* query, std::int64_t vectors,
                            std::int64_t count, float* scores) {
  Operands operands;
  operands.k = head_dim;
  operands.a = key;
  operands.a_stride = pad(head_dim);
  operands.b = query;
  operands.b_stride = kPanel;
  operands.c = scores;
  operands.ldc = kPanel;
  multiply_block<Layout::along_k>(round_up(count, kRowStep), vectors, operands);
}

// One vector of queries over `count` keys: scores become exp(score − maximum), the running maximum and sum
// move on, `correction` is what the sums so far must be multiplied with: exactly 1 where the maximum stayed.
HWY_INLINE void softmax_online(float log2_factor, std::int64_t count, float* scores, RunningRows rows) {
  const Floats d;
  const auto factor = hn::Set(d, log2_factor), nothing = hn::Neg(hn::Inf(d));
  auto block_maximum = nothing;
  for (std::int64_t key = 0; key < count; ++key)
    block_maximum = hn::Max(block_maximum, hn::Load(d, scores + key * kPanel));
  const auto before = hn::Load(d, rows.maximum);
  const auto maximum = hn::Max(before, hn::Mul(block_maximum, factor));
  // A row that has seen nothing yet: (−∞) − (−∞) is kept out.
  const auto base = hn::IfThenZeroElse(hn::Eq(maximum, nothing), maximum);
  const auto correction = exp2_flushed(d, hn::Sub(before, base));
  auto sum = hn::Zero(d);
  for (std::int64_t key = 0; key < count; ++key) {
    float* at = scores + key * kPanel;
    const auto weight = exp2_flushed(d, hn::MulSub(hn::Load(d, at), factor, base));
    sum = hn::Add(sum, weight);
    hn::Store(weight, d, at);
  }
  hn::Store(maximum, d, rows.maximum);
  hn::Store(correction, d, rows.correction);
  hn::Store(hn::MulAdd(hn::Load(d, rows.sum), correction, sum), d, rows.sum);
}

// out rows of [begin, end) that are to be corrected.
inline void correct_rows(std::int64_t begin, std::int64_t end, std::int64_t width, const RunningRows& rows) {
  const Floats d;
  for (std::int64_t row = begin; row < end; ++row) {
    if (rows.correction[row] == 1.0f) continue;
    const auto correction = hn::Set(d, rows.correction[row]);
    for (float* at = rows.out + row * width; at < rows.out + (row + 1) * width; at += kLanes)
      hn::Store(hn::Mul(hn::Load(d, at), correction), d, at);
  }
}

// out += weights · values, each sliver of queries over the keys that one of them may see.
void add_values(const Head& head, const Panel& panel, KeyRange block, const float* weights,
                const float* value, const RunningRows& rows) {
  const std::int64_t width = pad(head.problem.value_dim), vectors = width / kLanes;
  const std::int64_t step = sliver_rows(round_up(panel.queries, kRowStep), vectors);
  for (std::int64_t row = 0; row < panel.queries; row += step) {
    const std::int64_t end = smaller(row + step, round_up(panel.queries, kRowStep));
    correct_rows(row, end, width, rows);
    KeyRange keys = head.seen_by(panel.begin + row, panel.begin + smaller(end, panel.queries) - 1);
    keys = {larger(keys.begin, block.begin), smaller(keys.end, block.end)};
    if (keys.empty()) continue;
    Operands operands;
    operands.k = keys.end - keys.begin;
    operands.a = weights + (keys.begin - block.begin) * kPanel + row;
    operands.a_stride = kPanel;
    operands.b = value + (keys.begin - block.begin) * width;
    operands.b_stride = width;
    operands.c = rows.out + row * width;
    operands.ldc = width;
    operands.accumulate = true;
    multiply_sliver<Layout::along_rows>(end - row, vectors, operands);
  }
}

// One panel against the keys [block.begin, block.end), which lie packed in scratch.
void forward_block(const Head& head, const ScoreRule& rule, const AttentionDropout& dropout,
                   const Panel& panel, KeyRange block, const ForwardScratch& scratch,
                   const RunningRows& rows) {
  const Attention& problem = head.problem;
  KeyRange keys = head.seen_by(panel.begin, panel.last());
  keys = {larger(keys.begin, block.begin), smaller(keys.end, block.end)};
  if (keys.empty()) return;
  const std::int64_t skipped = keys.begin - block.begin, count = keys.end - keys.begin;
  multiply_scores(problem.head_dim, scratch.key + skipped * pad(problem.head_dim), rows.query,
                  panel.vectors(), count, scratch.scores);
  finish_scores(head, rule, panel, keys, scratch.scores, scratch.added, nullptr);
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const std::int64_t lane = vector * kLanes;
    softmax_online(rule.log2_factor, count, scratch.scores + lane,
                   {nullptr, nullptr, rows.maximum + lane, rows.sum + lane, rows.correction + lane});
  }
  if (problem.dropout > 0.0f) {
    gather_dropout(head, dropout, panel, keys, scratch.factors);
    const Floats d;
    for (std::int64_t i = 0; i < count * kPanel; i += kLanes)
      hn::Store(hn::Mul(hn::Load(d, scratch.scores + i), hn::Load(d, scratch.factors + i)), d,
                scratch.scores + i);
  }
  add_values(head, panel, keys, scratch.scores, scratch.value + skipped * pad(problem.value_dim), rows);
}

// out and lse of a panel from its running state.
void finish_rows(const Head& head, const Panel& panel, const RunningRows& rows) {
  const Floats d;
  const Attention& problem = head.problem;
  const std::int64_t width = pad(problem.value_dim);
  HWY_ALIGN float inverse[kPanel];
  HWY_ALIGN float lse[kPanel];
  for (std::int64_t lane = 0; lane < panel.vectors() * kLanes; lane += kLanes) {
    const auto sum = hn::Load(d, rows.sum + lane);
    const auto empty = hn::Eq(sum, hn::Zero(d));
    hn::Store(hn::IfThenZeroElse(empty, hn::Div(hn::Set(d, 1.0f), sum)), d, inverse + lane);
    const auto whole = hn::MulAdd(hn::Load(d, rows.maximum + lane), hn::Set(d, kLn2), log(d, sum));
    hn::Store(hn::IfThenElse(empty, hn::Neg(hn::Inf(d)), whole), d, lse + lane);
  }
  for (std::int64_t query = 0; query < panel.queries; ++query) {
    const std::int64_t row = head.sequence.query_begin + panel.begin + query;
    if (problem.lse != nullptr) problem.lse[row * problem.heads + head.head] = lse[query];
    float* to = problem.out + row * problem.out_stride + head.head * problem.value_dim;
    const float* from = rows.out + query * width;
    const auto factor = hn::Set(d, inverse[query]);
    const auto nothing = hn::Eq(factor, hn::Zero(d));
    // + 0 turns a −0, which depends on how many masked keys followed, into +0.
    for (std::int64_t column = 0; column < problem.value_dim; column += kLanes) {
      const auto value = hn::MulAdd(hn::Load(d, from + column), factor, hn::Zero(d));
      store_first(hn::IfThenZeroElse(nothing, value), d, to + column, problem.value_dim - column);
    }
  }
}

std::size_t forward_bytes(const Attention& problem) {
  return ForwardScratch(problem, nullptr).bytes;
}

void forward(const Attention& problem, const AttentionDropout& dropout, const AttentionRows& asked,
             std::byte* memory) {
  const Floats d;
  const Head head{problem, problem.sequences[static_cast<std::size_t>(asked.sequence)], asked.head};
  const ForwardScratch scratch(problem, memory);
  const ScoreRule rule(problem);
  const std::int64_t panels = (asked.query_end - asked.query_begin + kPanel - 1) / kPanel;
  const std::int64_t value_width = pad(problem.value_dim);
  const auto panel_at = [&](std::int64_t i) {
    const std::int64_t begin = asked.query_begin + i * kPanel;
    return Panel{begin, smaller(kPanel, asked.query_end - begin)};
  };
  const auto rows_at = [&](std::int64_t i) {
    return RunningRows{scratch.query + i * kPanel * problem.head_dim, scratch.out + i * kPanel * value_width,
                       scratch.maximum + i * kPanel, scratch.sum + i * kPanel,
                       scratch.correction + i * kPanel};
  };

  for (std::int64_t i = 0; i < panels; ++i) {
    const Panel panel = panel_at(i);
    const RunningRows rows = rows_at(i);
    copy_transposed(head.query(panel.begin), problem.query_stride, panel.queries, problem.head_dim,
                    scratch.query + i * kPanel * problem.head_dim, kPanel);
    for (std::int64_t at = 0; at < kPanel * value_width; at += kLanes)
      hn::Store(hn::Zero(d), d, rows.out + at);
    for (std::int64_t lane = 0; lane < kPanel; lane += kLanes) {
      hn::Store(hn::Neg(hn::Inf(d)), d, rows.maximum + lane);
      hn::Store(hn::Zero(d), d, rows.sum + lane);
    }
  }

  const KeyRange keys = head.seen_by(asked.query_begin, asked.query_end - 1);
  for (std::int64_t begin = keys.begin / kKeyBlock * kKeyBlock; begin < keys.end; begin += kKeyBlock) {
    const KeyRange block{begin, smaller(begin + kKeyBlock, keys.end)};
    copy_rows(head.key(begin), problem.key_stride, block.end - begin, problem.head_dim, scratch.key);
    copy_rows(head.value(begin), problem.value_stride, block.end - begin, problem.value_dim, scratch.value);
    for (std::int64_t i = 0; i < panels; ++i)
      forward_block(head, rule, dropout, panel_at(i), block, scratch, rows_at(i));
  }
  for (std::int64_t i = 0; i < panels; ++i) finish_rows(head, panel_at(i), rows_at(i));
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
