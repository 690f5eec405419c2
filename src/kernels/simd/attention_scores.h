// Products q · k, the scores computed from them (scale, softcap, bias, masks), and the factors of dropout.
// Tiles are [keys, queries] with one query per lane, so every step is vectorised over queries.
#pragma once

#include <cstdint>

#include "kernels/attention_table.h"
#include "kernels/simd/attention_tile.h"
#include "kernels/simd/philox.h"

namespace regard::kernels::REGARD_ISA {
namespace {

using Integers = hn::RebindToSigned<Floats>;
constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;

struct KeyRange {
  std::int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// One head of one sequence.
struct Head {
  const Attention& problem;
  const AttentionSequence& sequence;
  std::int64_t head = 0;

  std::int64_t kv_head() const { return head / (problem.heads / problem.kv_heads); }
  const float* query(std::int64_t row) const {
    return problem.query + (sequence.query_begin + row) * problem.query_stride + head * problem.head_dim;
  }
  const float* key(std::int64_t row) const {
    const AttentionPages& pages = sequence.pages;
    return pages.at != nullptr ? pages.row(pages.key, problem.head_dim, kv_head(), row)
                               : sequence.key + row * problem.key_stride + kv_head() * problem.head_dim;
  }
  const float* value(std::int64_t row) const {
    const AttentionPages& pages = sequence.pages;
    return pages.at != nullptr ? pages.row(pages.value, problem.value_dim, kv_head(), row)
                               : sequence.value + row * problem.value_stride + kv_head() * problem.value_dim;
  }
  // strides between consecutive rows, within one page if there are pages
  std::int64_t key_stride() const {
    return sequence.pages.at != nullptr ? problem.head_dim : problem.key_stride;
  }
  std::int64_t value_stride() const {
    return sequence.pages.at != nullptr ? problem.value_dim : problem.value_stride;
  }
  Rows query_rows(std::int64_t begin, std::int64_t end) const {
    return {query(begin), problem.query_stride, end - begin, problem.head_dim};
  }
  // Return the keys [begin, end), which must be contiguous, i.e. within one page (see for_each_run()).
  Rows key_rows(std::int64_t begin, std::int64_t end) const {
    return {key(begin), key_stride(), end - begin, problem.head_dim};
  }
  Rows value_rows(std::int64_t begin, std::int64_t end) const {
    return {value(begin), value_stride(), end - begin, problem.value_dim};
  }
  // Return rows of out, indexed like the queries.
  Rows out_rows(std::int64_t begin, std::int64_t end) const {
    return {problem.out + (sequence.query_begin + begin) * problem.out_stride + head * problem.value_dim,
            problem.out_stride, end - begin, problem.value_dim};
  }
  // Return the first (or last) key that causality and the window allow for query `row`. It may be outside [0,
  // keys).
  std::int64_t first_key(std::int64_t row) const {
    return problem.window > 0 ? row + sequence.offset - problem.window + 1 : 0;
  }
  std::int64_t last_key(std::int64_t row) const {
    if (problem.causal) return row + sequence.offset;
    return problem.window > 0 ? row + sequence.offset + problem.window - 1 : sequence.keys - 1;
  }
  // Return the keys that causality and window allow for at least one of the queries [first, last].
  KeyRange seen_by(std::int64_t first, std::int64_t last) const {
    return {larger(0, first_key(first)), smaller(sequence.keys, last_key(last) + 1)};
  }
  bool all_seen(std::int64_t first, std::int64_t last, KeyRange keys) const {
    return first_key(last) <= keys.begin && last_key(first) >= keys.end - 1;
  }
};

// Call body(run) for each contiguous range of `keys`. Null pages are skipped.
template <class Body>
HWY_INLINE void for_each_run(const AttentionSequence& sequence, KeyRange keys, Body&& body) {
  const AttentionPages& pages = sequence.pages;
  if (pages.at == nullptr) return body(keys);
  while (!keys.empty()) {
    const std::int64_t page = keys.begin / pages.rows, end = smaller(keys.end, (page + 1) * pages.rows);
    if (pages.at[page] != nullptr) body(KeyRange{keys.begin, end});
    keys.begin = end;
  }
}

// Copy keys to out [round_up(keys, kRowStep), pad(head_dim)], zero-padded. Rows of null pages are not
// written.
void gather_keys(const Head& head, KeyRange keys, float* out) {
  const std::int64_t width = pad(head.problem.head_dim);
  for_each_run(head.sequence, keys, [&](KeyRange run) HWY_ATTR {
    copy_rows(head.key_rows(run.begin, run.end), out + (run.begin - keys.begin) * width);
  });
}

void gather_values(const Head& head, KeyRange keys, float* out) {
  const std::int64_t width = pad(head.problem.value_dim);
  for_each_run(head.sequence, keys, [&](KeyRange run) HWY_ATTR {
    copy_rows(head.value_rows(run.begin, run.end), out + (run.begin - keys.begin) * width);
  });
}

// Consecutive queries, one per lane.
struct Panel {
  std::int64_t begin = 0, queries = 0;  // index of the first query in the sequence; number of queries
  std::int64_t stride = 0;              // row stride of the panel's tiles
  std::int64_t vectors() const { return (queries + kLanes - 1) / kLanes; }
  std::int64_t last() const { return begin + queries - 1; }
};

// The rows of a tile that are computed. For vector v of queries, these are the rows of `keys` up to the last
// key that causality and the window allow for at least one of the queries. The other rows are set to zero
// when the tile contains attention weights.
struct Scope {
  KeyRange keys;
  std::int64_t diagonal = 0;  // rows computed for query vector 0; each further vector has kLanes more rows

  Scope(const Head& head, const Panel& panel, KeyRange range)
      : keys(range), diagonal(range.end - range.begin) {
    if (head.problem.causal || head.problem.window > 0)
      diagonal = head.last_key(panel.begin + kLanes - 1) + 1 - keys.begin;
  }
  std::int64_t count() const { return keys.end - keys.begin; }
  std::int64_t rows(std::int64_t vector) const {
    return larger(0, smaller(count(), diagonal + vector * kLanes));
  }
  std::int64_t first_vector(std::int64_t row) const {
    return row < diagonal ? 0 : (row - diagonal) / kLanes + 1;
  }
};

// Computes scores [keys, queries] = rows [keys, dim] · columns [dim, queries].
struct ScoreProduct {
  std::int64_t dim = 0;
  const float* rows = nullptr;     // row stride pad(dim)
  const float* columns = nullptr;  // row stride of the panel
  float* scores = nullptr;
};

void multiply_scores(const Panel& panel, const Scope& scope, const ScoreProduct& product, Fetcher* ahead) {
  const std::int64_t vectors = panel.vectors(), width = pad(product.dim), stride = panel.stride;
  const std::int64_t most = vectors <= 2 ? kMostRows[1] : kMostRows[2];
  for (std::int64_t row = 0; row < scope.count(); row += most) {
    const std::int64_t height = smaller(most, round_up(scope.count() - row, kRowStep));
    const std::int64_t first = scope.first_vector(row);
    for_each_group(vectors - first, [&](auto group, std::int64_t vector) HWY_ATTR {
      const std::int64_t lane = (first + vector) * kLanes;
      multiply_rows<decltype(group)::value, Start::zero>(height, AlongK{product.rows + row * width, width},
                                                         {product.columns + lane, stride}, product.dim,
                                                         {product.scores + row * stride + lane, stride});
    });
    if (ahead != nullptr) ahead->fetch();
  }
}

// Format of the scores that the softmax reads. With a softcap, a bias or a scale ≤ 0, the softmax reads
// complete scores; otherwise it reads the products q · k, and log2_factor includes the scale.
struct ScoreRule {
  bool complete = false;     // true if finish_scores() applies scale, softcap and bias
  bool added = false;        // true if there is a mask or a bias
  float log2_factor = 0.0f;  // 2^(log2_factor · score) is the attention weight before normalisation

  explicit ScoreRule(const Attention& problem)
      : complete(problem.softcap > 0.0f || problem.bias != nullptr || !(problem.scale > 0.0f)),
        added(problem.mask != nullptr || problem.bias != nullptr),
        log2_factor(complete ? kLog2e : problem.scale * kLog2e) {}
};

// Write added [keys, queries]: the bias, or −∞ where the mask is 0. The values of lanes without a query are
// undefined.
void gather_added(const Head& head, const Panel& panel, KeyRange keys, float* added) {
  const Floats d;
  const Attention& problem = head.problem;
  const AttentionSequence& sequence = head.sequence;
  const std::int64_t count = keys.end - keys.begin, stride = panel.stride;
  if (problem.bias == nullptr) {
    clear(added, count * stride);
  } else {
    const float* bias = problem.bias + sequence.mask_row * problem.bias_sequence_stride +
                        head.head * problem.bias_head_stride + panel.begin * problem.bias_query_stride +
                        keys.begin;
    if (problem.bias_query_stride != 0) {
      copy_transposed({bias, problem.bias_query_stride, panel.queries, count}, added, stride);
    } else {
      for (std::int64_t key = 0; key < count; ++key)
        for (std::int64_t lane = 0; lane < stride; lane += kLanes)
          hn::Store(hn::Set(d, bias[key]), d, added + key * stride + lane);
    }
  }
  if (problem.mask == nullptr) return;
  const std::uint8_t* mask = problem.mask + sequence.mask_row * problem.mask_sequence_stride +
                             head.head * problem.mask_head_stride + panel.begin * problem.mask_query_stride +
                             keys.begin;
  const float hidden = hn::GetLane(hn::Neg(hn::Inf(d)));
  for (std::int64_t query = 0; query < panel.queries; ++query, mask += problem.mask_query_stride)
    for (std::int64_t key = 0; key < count; ++key)
      if (mask[key] == 0) added[key * stride + query] = hidden;
}

// One vector of queries in a tile of scores: pointer to its first element, row stride, and number of computed
// rows.
struct Column {
  float* at;
  std::int64_t stride, rows;
};

// Apply scale and softcap in place. If `slope` is not null, store the derivative of the softcap in it.
inline void scale_and_cap(const Attention& problem, Column scores, float* slope) {
  const Floats d;
  const auto scale = hn::Set(d, problem.scale), one = hn::Set(d, 1.0f);
  const auto cap = hn::Set(d, problem.softcap);
  for (std::int64_t i = 0; i < scores.rows * scores.stride; i += scores.stride) {
    auto score = hn::Mul(hn::Load(d, scores.at + i), scale);
    if (problem.softcap > 0.0f) {
      const auto bent = tanh(d, hn::Div(score, cap));
      score = hn::Mul(bent, cap);
      if (slope != nullptr) hn::Store(hn::NegMulAdd(bent, bent, one), d, slope + i);
    }
    hn::Store(score, d, scores.at + i);
  }
}

inline void add_to_scores(Column scores, const float* added) {
  const Floats d;
  const auto hidden = hn::Neg(hn::Inf(d));
  for (std::int64_t i = 0; i < scores.rows * scores.stride; i += scores.stride) {
    const auto extra = hn::Load(d, added + i);
    const auto score = hn::Add(hn::Load(d, scores.at + i), extra);
    hn::Store(hn::IfThenElse(hn::Eq(extra, hidden), hidden, score), d, scores.at + i);
  }
}

// Set elements of `rows` to −∞ where causality or the window excludes the key. `distance` is the position of
// the first lane's query minus the key index of row 0.
inline void hide_by_position(const Attention& problem, Column scores, std::int64_t distance, KeyRange rows) {
  const Floats d;
  const Integers integers;
  const auto hidden = hn::Neg(hn::Inf(d));
  const std::int64_t window = problem.window;
  const auto below = hn::Set(integers, problem.causal ? -1 : static_cast<std::int32_t>(-window));
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const auto distances = hn::Iota(integers, static_cast<std::int32_t>(distance - row));
    auto seen = hn::Gt(distances, below);
    if (window > 0)
      seen = hn::And(seen, hn::Lt(distances, hn::Set(integers, static_cast<std::int32_t>(window))));
    float* at = scores.at + row * scores.stride;
    hn::Store(hn::IfThenElse(hn::RebindMask(d, seen), hn::Load(d, at), hidden), d, at);
  }
}

// Apply the steps between q · k and the softmax: scale, softcap, bias and masks. `added` is scratch for one
// tile.
void finish_scores(const Head& head, const ScoreRule& rule, const Panel& panel, const Scope& scope,
                   float* scores, float* added, float* slope) {
  const Attention& problem = head.problem;
  const KeyRange keys = scope.keys;
  if (rule.added) gather_added(head, panel, keys, added);
  const bool by_position = !head.all_seen(panel.begin, panel.last(), keys);
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const std::int64_t lane = vector * kLanes, first = panel.begin + lane;
    const Column column{scores + lane, panel.stride, scope.rows(vector)};
    if (rule.complete) scale_and_cap(problem, column, slope == nullptr ? nullptr : slope + lane);
    if (rule.added) add_to_scores(column, added + lane);
    if (!by_position) continue;
    // Only two ranges of rows contain excluded keys. Rows below hidden_to precede the first key of the last
    // lane's query; rows from seen_to on follow the last key of the first lane's query.
    const std::int64_t hidden_to = smaller(column.rows, head.first_key(first + kLanes - 1) - keys.begin);
    const std::int64_t seen_to = larger(0, head.last_key(first) + 1 - keys.begin);
    const std::int64_t distance = first + head.sequence.offset - keys.begin;
    hide_by_position(problem, column, distance, {0, hidden_to});
    hide_by_position(problem, column, distance, {larger(seen_to, larger(0, hidden_to)), column.rows});
  }
}

// Write the factors [keys, queries] that dropout_factor() returns: 0 for a dropped attention weight,
// otherwise dropout.kept.
void gather_dropout(const Head& head, const AttentionDropout& dropout, const Panel& panel, KeyRange keys,
                    float* factors) {
  const Floats d;
  const Words words;
  const auto kept = hn::Set(d, dropout.kept);
  const Integers integers;  // draws have 16 bits, so the signed comparison of AVX2 gives the right result
  const auto threshold = hn::Set(integers, static_cast<std::int32_t>(dropout.threshold));
  const std::uint64_t index = head.sequence.index;
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const std::int64_t position = panel.begin + head.sequence.offset + vector * kLanes;
    PhiloxBlocks counter{{hn::Set(words, static_cast<std::uint32_t>(index)),
                          hn::Iota(words, static_cast<std::uint32_t>(position)),
                          hn::Set(words, static_cast<std::uint32_t>(head.head) ^
                                             static_cast<std::uint32_t>(index >> 32) << 16),
                          hn::Zero(words)}};
    for (std::int64_t group = keys.begin / 8; group * 8 < keys.end; ++group) {
      counter.word[3] = hn::Set(words, static_cast<std::uint32_t>(group));
      const PhiloxBlocks draws = philox(counter, dropout.key0, dropout.key1);
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t key = group * 8 + i;
        if (key < keys.begin || key >= keys.end) continue;
        const auto word = draws.word[i / 2];
        const auto draw = i % 2 == 0 ? hn::And(word, hn::Set(words, 0xFFFFu)) : hn::ShiftRight<16>(word);
        const auto dropped = hn::RebindMask(d, hn::Lt(hn::BitCast(integers, draw), threshold));
        hn::Store(hn::IfThenZeroElse(dropped, kept), d,
                  factors + (key - keys.begin) * panel.stride + vector * kLanes);
      }
    }
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
