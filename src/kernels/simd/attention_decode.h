// The forward pass of at most kFewQueries queries over keys in cache pages, for decoding. Each lane contains
// one key, because there are too few queries to fill the lanes. Products, sums and exponentials are computed
// in the same order as in attention_forward.h, so the results are bit-identical.
#pragma once

#include <cstdint>

#include "kernels/simd/attention_forward.h"

namespace regard::kernels::REGARD_ISA {
namespace {

// Number of rows that one call of Fetcher::fetch() prefetches: enough to prefetch a block while the previous
// block is processed.
constexpr std::int64_t kRowsAtOnce = 4;

// Return true if forward_few() supports this call:
// - at most kFewQueries queries, which all attend to the same keys;
// - pages with a multiple of kLanes rows, and head_dim a multiple of 4;
// - no dropout, and `complete` and `added` of the ScoreRule are false.
// Keys are read kLanes rows at a time, so rows of a page after the last key may be read.
bool is_decoding(const Head& head, const ScoreRule& rule, const AttentionRows& asked) {
  const Attention& problem = head.problem;
  const AttentionPages& pages = head.sequence.pages;
  const std::int64_t last = asked.query_end - 1;
  return asked.query_end - asked.query_begin <= kFewQueries && pages.at != nullptr &&
         pages.rows % kLanes == 0 && problem.head_dim % 4 == 0 && !rule.complete && !rule.added &&
         !(problem.dropout > 0.0f) &&
         head.all_seen(asked.query_begin, last, head.seen_by(asked.query_begin, last));
}

// Transpose keys to out [head_dim, kKeyBlock]; keys.begin is a multiple of kLanes.
inline void transpose_keys(const Head& head, KeyRange keys, float* out, Fetcher& ahead) {
  for_each_run(head.sequence, keys, [&](KeyRange run) HWY_ATTR {
    const Rows rows = head.key_rows(run.begin, run.end);
    for (std::int64_t row = 0; row < rows.count; row += kLanes) {
      for (int i = 0; i < 4; ++i) ahead.fetch();
      float* to = out + run.begin - keys.begin + row;
      const float* from = rows.at + row * rows.stride;
      for (std::int64_t column = 0; column < rows.columns; column += 4)
        transpose_quads(from + column, rows.stride, to + column * kKeyBlock, kKeyBlock);
    }
  });
}

// Compute scores[i] = query · key i, for the first `lanes` keys of a transposed block `keys` [dim,
// kKeyBlock].
inline void multiply_keys(const float* query, std::int64_t dim, const float* keys, std::int64_t lanes,
                          float* scores) {
  const Floats d;
  for_each_group((lanes + kLanes - 1) / kLanes, [&](auto group, std::int64_t first) HWY_ATTR {
    constexpr int kVectors = decltype(group)::value;
    FloatVector sum[kVectors];
    for (int vector = 0; vector < kVectors; ++vector) sum[vector] = hn::Zero(d);
    const float* from = keys + first * kLanes;
    for (std::int64_t i = 0; i < dim; ++i, from += kKeyBlock) {
      const auto factor = hn::Set(d, query[i]);
      for (int vector = 0; vector < kVectors; ++vector)
        sum[vector] = hn::MulAdd(factor, hn::Load(d, from + vector * kLanes), sum[vector]);
    }
    for (int vector = 0; vector < kVectors; ++vector)
      hn::Store(sum[vector], d, scores + (first + vector) * kLanes);
  });
}

// Add 4 steps of query · keys to the sum of one vector of keys that are not transposed.
HWY_INLINE void multiply_quads(const float* query, const float* keys, std::int64_t stride, FloatVector& sum) {
  const Floats d;
  const Quads quads = transposed_quads(keys, stride);
  for (int step = 0; step < 4; ++step) sum = hn::MulAdd(hn::Set(d, query[step]), quads.step[step], sum);
}

// Multiply one query by kGroups vectors of keys that are not transposed; keys[vector] points to the first key
// of a vector. All elements of a cache line are used before the next line is loaded, because a line can be
// evicted soon after it is loaded.
template <int kGroups>
HWY_INLINE void multiply_keys_of_one(const float* query, std::int64_t dim, const float* const* keys,
                                     std::int64_t stride, Fetcher& ahead, float* scores) {
  const Floats d;
  FloatVector sum[kGroups];
  for (int group = 0; group < kGroups; ++group) sum[group] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kFloatsInLine <= dim; i += kFloatsInLine) {
    ahead.fetch();
    for (int group = 0; group < kGroups; ++group)
      for (int step = 0; step < kFloatsInLine; step += 4)
        multiply_quads(query + i + step, keys[group] + i + step, stride, sum[group]);
  }
  if (i < dim) ahead.fetch();
  for (; i < dim; i += 4)
    for (int group = 0; group < kGroups; ++group)
      multiply_quads(query + i, keys[group] + i, stride, sum[group]);
  for (int group = 0; group < kGroups; ++group) hn::Store(sum[group], d, scores + group * kLanes);
}

// Compute scores [round_up(keys, kLanes)] = query · keys. keys.begin must be a multiple of kLanes.
inline void score_one(const Head& head, KeyRange keys, const float* query, Fetcher& ahead, float* scores) {
  const float* at[kKeyBlock / kLanes];
  std::int64_t vectors = 0;
  for (std::int64_t key = keys.begin; key < keys.end; key += kLanes) at[vectors++] = head.key(key);
  for_each_group(vectors, [&](auto group, std::int64_t first) HWY_ATTR {
    multiply_keys_of_one<decltype(group)::value>(query, head.problem.head_dim, at + first, head.key_stride(),
                                                 ahead, scores + first * kLanes);
  });
}

// Compute out += Σ weights[row] · rows[row], for kVectors vectors of columns.
template <int kVectors>
HWY_INLINE void add_vectors(const Rows& rows, const float* weights, Fetcher& ahead, float* out) {
  const Floats d;
  FloatVector sum[kVectors];
  for (int vector = 0; vector < kVectors; ++vector) sum[vector] = hn::Load(d, out + vector * kLanes);
  const float* from = rows.at;
  for (std::int64_t row = 0; row < rows.count; ++row, from += rows.stride) {
    ahead.fetch();
    const auto weight = hn::Set(d, weights[row]);
    for (int vector = 0; vector < kVectors; ++vector)
      sum[vector] = hn::MulAdd(weight, hn::LoadU(d, from + vector * kLanes), sum[vector]);
  }
  for (int vector = 0; vector < kVectors; ++vector) hn::Store(sum[vector], d, out + vector * kLanes);
}

// Compute out [columns] += Σ weights[row] · rows[row]. The last vector of columns may be partial.
inline void add_values(Rows rows, const float* weights, Fetcher& ahead, float* out) {
  const Floats d;
  // Each vector of columns is one dependency chain over the rows, so several are computed at once.
  constexpr int kMost = 8;
  for (; rows.columns >= kMost * kLanes; rows.columns -= kMost * kLanes) {
    add_vectors<kMost>(rows, weights, ahead, out);
    rows.at += kMost * kLanes, out += kMost * kLanes;
  }
  for (; rows.columns >= 4 * kLanes; rows.columns -= 4 * kLanes) {
    add_vectors<4>(rows, weights, ahead, out);
    rows.at += 4 * kLanes, out += 4 * kLanes;
  }
  for (; rows.columns >= kLanes; rows.columns -= kLanes) {
    add_vectors<1>(rows, weights, ahead, out);
    rows.at += kLanes, out += kLanes;
  }
  if (rows.columns == 0) return;
  auto sum = hn::Load(d, out);
  const float* from = rows.at;
  for (std::int64_t row = 0; row < rows.count; ++row, from += rows.stride)
    sum = hn::MulAdd(hn::Set(d, weights[row]), load_first(d, from, rows.columns), sum);
  hn::Store(sum, d, out);
}

// State of the online softmax for one query; RunningPanel holds the state for a panel of queries.
struct RunningQuery {
  const float* query = nullptr;
  float* out = nullptr;  // [pad(value_dim)], not yet divided by sum
  float maximum = 0.0f, sum = 0.0f;
};

// Replace scores [seen.begin, seen.end) with exp(score − maximum), and set the other lanes of these vectors
// to 0. Update the running maximum and sum. Return the factor by which running.out must be multiplied.
inline float softmax_online(float log2_factor, KeyRange seen, float* scores, RunningQuery& running) {
  const Floats d;
  const auto factor = hn::Set(d, log2_factor), nothing = hn::Neg(hn::Inf(d));
  auto largest = nothing;
  for (std::int64_t lane = 0; lane < seen.begin; ++lane) scores[lane] = hn::GetLane(nothing);
  for (std::int64_t lane = seen.end; lane < round_up(seen.end, kLanes); ++lane)
    scores[lane] = hn::GetLane(nothing);
  for (std::int64_t lane = 0; lane < seen.end; lane += kLanes)
    largest = hn::Max(largest, hn::Load(d, scores + lane));
  const auto before = hn::Set(d, running.maximum);
  const auto maximum = hn::Max(before, hn::Mul(hn::MaxOfLanes(d, largest), factor));
  const auto base = hn::IfThenZeroElse(hn::Eq(maximum, nothing), maximum);
  const float correction = hn::GetLane(exp2_flushed(d, hn::Sub(before, base)));
  for (std::int64_t lane = 0; lane < seen.end; lane += kLanes)
    hn::Store(exp2_flushed(d, hn::MulSub(hn::Load(d, scores + lane), factor, base)), d, scores + lane);
  float sum = 0.0f;
  for (std::int64_t lane = seen.begin; lane < seen.end; ++lane) sum += scores[lane];
  running.sum = __builtin_fmaf(running.sum, correction, sum);
  running.maximum = hn::GetLane(maximum);
  return correction;
}

inline void finish_row(const Head& head, std::int64_t query, const RunningQuery& running) {
  const Floats d;
  const Attention& problem = head.problem;
  const std::int64_t row = head.sequence.query_begin + query;
  const bool empty = running.sum == 0.0f;
  if (problem.lse != nullptr) {
    const auto whole =
        hn::MulAdd(hn::Set(d, running.maximum), hn::Set(d, kLn2), log(d, hn::Set(d, running.sum)));
    problem.lse[row * problem.heads + head.head] = hn::GetLane(empty ? hn::Neg(hn::Inf(d)) : whole);
  }
  const auto factor = hn::Set(d, empty ? 0.0f : 1.0f / running.sum);
  float* to = problem.out + row * problem.out_stride + head.head * problem.value_dim;
  for (std::int64_t column = 0; column < problem.value_dim; column += kLanes) {
    const auto value = hn::MulAdd(hn::Load(d, running.out + column), factor, hn::Zero(d));
    store_first(empty ? hn::Zero(d) : value, d, to + column, problem.value_dim - column);
  }
}

// A block of keys. Lane i holds key first + i; the block consists of lanes [lanes.begin, lanes.end).
struct DecodeBlock {
  std::int64_t first = 0;
  KeyRange lanes;
  bool started = false;  // true if an earlier block has been added to running.out
};

// Update the softmax state and output of a query with one block, whose products q · k are in scratch.scores.
void attend_block(const Head& head, const ScoreRule& rule, const DecodeBlock& block,
                  const ForwardScratch& scratch, Fetcher& ahead, RunningQuery& running) {
  const Floats d;
  const Attention& problem = head.problem;
  const float correction = softmax_online(rule.log2_factor, block.lanes, scratch.scores, running);
  if (block.started)
    for (std::int64_t column = 0; column < problem.value_dim; column += kLanes)
      hn::Store(hn::Mul(hn::Load(d, running.out + column), hn::Set(d, correction)), d, running.out + column);
  const KeyRange keys{block.first + block.lanes.begin, block.first + block.lanes.end};
  for_each_run(head.sequence, keys, [&](KeyRange run) HWY_ATTR {
    add_values(head.value_rows(run.begin, run.end), scratch.scores + run.begin - block.first, ahead,
               running.out);
  });
}

// Return the value rows of a block, to be prefetched while the block's scores are computed. The keys of the
// next block are prefetched later, by fetch_next_keys(): prefetched here, they could be evicted from the CPU
// cache before they are read.
inline Fetcher fetch_values(const Head& head, KeyRange keys) {
  constexpr std::int64_t kGroups = kKeyBlock / kPanel;  // number of multiply_keys_of_one() calls per block
  const std::int64_t calls = kGroups * ((head.problem.head_dim + kFloatsInLine - 1) / kFloatsInLine);
  Fetcher ahead((kKeyBlock + calls - 1) / calls);
  for_each_run(head.sequence, keys, [&](KeyRange run) { ahead.add(head.value_rows(run.begin, run.end), 0); });
  return ahead;
}

// Return the rows to prefetch while the values of a block are added: the keys of the next block, which starts
// at `next`. After the last block, these are the queries and the first keys of the next call (`following`).
inline Fetcher fetch_next_keys(const Head& head, std::int64_t next, KeyRange keys,
                               const AttentionRows* following) {
  Fetcher ahead(1);
  const auto add = [&](const Head& of, std::int64_t begin, std::int64_t end) {
    for_each_run(of.sequence, {begin, smaller(begin + kKeyBlock, end)},
                 [&](KeyRange run) { ahead.add(of.key_rows(run.begin, run.end), 0); });
  };
  if (next < keys.end) {
    add(head, next, keys.end);
  } else if (following != nullptr) {
    const Head other = head_of(head.problem, *following);
    const KeyRange seen = other.seen_by(following->query_begin, following->query_end - 1);
    ahead.add(other.query_rows(following->query_begin, following->query_end), 0);
    if (!seen.empty()) add(other, seen.begin / kKeyBlock * kKeyBlock, seen.end);
  }
  return ahead;
}

void forward_few(const Head& head, const ScoreRule& rule, const AttentionRows& asked,
                 const AttentionRows* following, const ForwardScratch& scratch) {
  const std::int64_t queries = asked.query_end - asked.query_begin, width = pad(head.problem.value_dim);
  const KeyRange keys = head.seen_by(asked.query_begin, asked.query_end - 1);
  const float nothing = hn::GetLane(hn::Neg(hn::Inf(Floats())));
  RunningQuery running[kFewQueries];
  for (std::int64_t i = 0; i < queries; ++i)
    running[i] = {head.query(asked.query_begin + i), scratch.out + i * width, nothing, 0.0f};
  clear(scratch.out, queries * width);
  for (std::int64_t begin = keys.begin / kKeyBlock * kKeyBlock; begin < keys.end; begin += kKeyBlock) {
    const KeyRange seen{larger(begin, keys.begin), smaller(begin + kKeyBlock, keys.end)};
    const std::int64_t first = seen.begin / kLanes * kLanes;
    const DecodeBlock block{first, {seen.begin - first, seen.end - first}, begin > keys.begin};
    if (queries == 1) {
      Fetcher values = fetch_values(head, seen),
              next = fetch_next_keys(head, begin + kKeyBlock, keys, following);
      score_one(head, {first, seen.end}, running[0].query, values, scratch.scores);
      attend_block(head, rule, block, scratch, next, running[0]);
      continue;
    }
    Fetcher ahead = fetch_after(head, keys, begin + kKeyBlock, asked, following, kRowsAtOnce);
    transpose_keys(head, {first, seen.end}, scratch.key, ahead);
    for (std::int64_t i = 0; i < queries; ++i) {
      multiply_keys(running[i].query, head.problem.head_dim, scratch.key, block.lanes.end, scratch.scores);
      attend_block(head, rule, block, scratch, ahead, running[i]);
    }
  }
  for (std::int64_t i = 0; i < queries; ++i) finish_row(head, asked.query_begin + i, running[i]);
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
