// From products q · k to scores: scale, softcap, bias, masks; and the factors of dropout. Tiles lie as
// [keys, panel]: a key a row, queries on the lanes.
#pragma once

#include <cstdint>

#include "kernels/attention_table.h"
#include "kernels/simd/attention_tile.h"

namespace regard::kernels::REGARD_ISA {
namespace {

using Integers = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
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
    return sequence.key + row * problem.key_stride + kv_head() * problem.head_dim;
  }
  const float* value(std::int64_t row) const {
    return sequence.value + row * problem.value_stride + kv_head() * problem.value_dim;
  }
  // The first and the last key that the mask by position leaves to a query.
  std::int64_t first_key(std::int64_t row) const {
    return problem.window > 0 ? row + sequence.offset - problem.window + 1 : 0;
  }
  std::int64_t last_key(std::int64_t row) const {
    if (problem.causal) return row + sequence.offset;
    return problem.window > 0 ? row + sequence.offset + problem.window - 1 : sequence.keys - 1;
  }
  // Keys that at least one of the queries [first, last] may see.
  KeyRange seen_by(std::int64_t first, std::int64_t last) const {
    return {larger(0, first_key(first)), smaller(sequence.keys, last_key(last) + 1)};
  }
  bool all_seen(std::int64_t first, std::int64_t last, KeyRange keys) const {
    return first_key(last) <= keys.begin && last_key(first) >= keys.end - 1;
  }
};

// Queries side by side on the lanes.
struct Panel {
  std::int64_t begin = 0, queries = 0;  // in the sequence
  std::int64_t vectors() const { return (queries + kLanes - 1) / kLanes; }
  std::int64_t last() const { return begin + queries - 1; }
};

// Scores are handed on either as products, with the scale folded into the exponent's factor, or, where
// something stands between, complete.
struct ScoreRule {
  bool complete = false;     // scale, softcap and bias are applied by finish_scores
  bool added = false;        // there is a mask or a bias
  float log2_factor = 0.0f;  // 2^(factor · score) is the weight before it is normalised

  explicit ScoreRule(const Attention& problem)
      : complete(problem.softcap > 0.0f || problem.bias != nullptr || !(problem.scale > 0.0f)),
        added(problem.mask != nullptr || problem.bias != nullptr),
        log2_factor(complete ? kLog2e : problem.scale * kLog2e) {}
};

// added [keys, kPanel] = bias, −∞ where the mask says no. Lanes without a query are left as they come.
void gather_added(const Head& head, const Panel& panel, KeyRange keys, float* added) {
  const Floats d;
  const Attention& problem = head.problem;
  const AttentionSequence& sequence = head.sequence;
  const std::int64_t count = keys.end - keys.begin;
  if (problem.bias == nullptr) {
    for (std::int64_t i = 0; i < count * kPanel; i += kLanes) hn::Store(hn::Zero(d), d, added + i);
  } else {
    const float* bias = problem.bias + sequence.mask_row * problem.bias_sequence_stride +
                        head.head * problem.bias_head_stride + panel.begin * problem.bias_query_stride +
                        keys.begin;
    if (problem.bias_query_stride != 0) {
      copy_transposed(bias, problem.bias_query_stride, panel.queries, count, added, kPanel);
    } else {
      for (std::int64_t key = 0; key < count; ++key)
        for (std::int64_t lane = 0; lane < kPanel; lane += kLanes)
          hn::Store(hn::Set(d, bias[key]), d, added + key * kPanel + lane);
    }
  }
  if (problem.mask == nullptr) return;
  const std::uint8_t* mask = problem.mask + sequence.mask_row * problem.mask_sequence_stride +
                             head.head * problem.mask_head_stride + panel.begin * problem.mask_query_stride +
                             keys.begin;
  const float hidden = hn::GetLane(hn::Neg(hn::Inf(d)));
  for (std::int64_t query = 0; query < panel.queries; ++query, mask += problem.mask_query_stride)
    for (std::int64_t key = 0; key < count; ++key)
      if (mask[key] == 0) added[key * kPanel + query] = hidden;
}

// Scale and softcap in place; where `slope` is given it gets the derivative of the softcap.
void scale_and_cap(const Attention& problem, std::int64_t vectors, std::int64_t count, float* scores,
                   float* slope) {
  const Floats d;
  const auto scale = hn::Set(d, problem.scale), one = hn::Set(d, 1.0f);
  const auto cap = hn::Set(d, problem.softcap);
  for (std::int64_t key = 0; key < count; ++key) {
    for (std::int64_t vector = 0; vector < vectors; ++vector) {
      const std::int64_t at = key * kPanel + vector * kLanes;
      auto score = hn::Mul(hn::Load(d, scores + at), scale);
      if (problem.softcap > 0.0f) {
        const auto bent = tanh(d, hn::Div(score, cap));
        score = hn::Mul(bent, cap);
        if (slope != nullptr) hn::Store(hn::NegMulAdd(bent, bent, one), d, slope + at);
      }
      hn::Store(score, d, scores + at);
    }
  }
}

// scores −∞ where the position hides the key.
void hide_by_position(const Head& head, const Panel& panel, KeyRange keys, float* scores) {
  const Floats d;
  const Integers integers;
  const auto hidden = hn::Neg(hn::Inf(d));
  const std::int64_t position = panel.begin + head.sequence.offset;
  const std::int64_t window = head.problem.window;
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    float* row = scores + (key - keys.begin) * kPanel;
    for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
      // The lane's position less the key's.
      const auto distance = hn::Iota(integers, static_cast<std::int32_t>(position + vector * kLanes - key));
      auto seen = hn::Gt(distance, hn::Set(integers, head.problem.causal ? -1
                                                     : window > 0        ? static_cast<std::int32_t>(-window)
                                                                         : INT32_MIN));
      if (window > 0)
        seen = hn::And(seen, hn::Lt(distance, hn::Set(integers, static_cast<std::int32_t>(window))));
      const auto score = hn::Load(d, row + vector * kLanes);
      hn::Store(hn::IfThenElse(hn::RebindMask(d, seen), score, hidden), d, row + vector * kLanes);
    }
  }
}

// What lies between q · k and the softmax. `added` is scratch of a tile.
void finish_scores(const Head& head, const ScoreRule& rule, const Panel& panel, KeyRange keys, float* scores,
                   float* added, float* slope) {
  const Floats d;
  const std::int64_t count = keys.end - keys.begin;
  if (rule.complete) scale_and_cap(head.problem, panel.vectors(), count, scores, slope);
  if (rule.added) {
    gather_added(head, panel, keys, added);
    const auto hidden = hn::Neg(hn::Inf(d));
    for (std::int64_t key = 0; key < count; ++key) {
      for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
        const std::int64_t at = key * kPanel + vector * kLanes;
        const auto extra = hn::Load(d, added + at);
        const auto score = hn::Add(hn::Load(d, scores + at), extra);
        hn::Store(hn::IfThenElse(hn::Eq(extra, hidden), hidden, score), d, scores + at);
      }
    }
  }
  if (!head.all_seen(panel.begin, panel.last(), keys)) hide_by_position(head, panel, keys, scores);
}

struct WordsOfBlock {
  hn::Vec<Words> word[4];
};

// Philox4x32-10 with one block a lane.
HWY_INLINE WordsOfBlock philox_block(const WordsOfBlock& counter, const AttentionDropout& dropout) {
  const Words words;
  const hn::RepartitionToWide<Words> wide;
  const auto multiply = [&](hn::Vec<Words> a, std::uint32_t factor, auto& high, auto& low) HWY_ATTR {
    const auto b = hn::Set(words, factor);
    const auto even = hn::MulEven(a, b);
    const auto odd = hn::MulEven(hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
    high = hn::OddEven(hn::BitCast(words, odd), hn::BitCast(words, hn::ShiftRight<32>(even)));
    low = hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(odd)), hn::BitCast(words, even));
  };
  auto c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
  std::uint32_t key0 = dropout.key0, key1 = dropout.key1;
  for (int round = 0; round < 10; ++round) {
    auto high0 = c0, low0 = c0, high1 = c0, low1 = c0;
    multiply(c0, 0xD2511F53u, high0, low0);
    multiply(c2, 0xCD9E8D57u, high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(words, key0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(words, key1));
    c3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// factors [keys, kPanel]: 0 or `kept`, as dropout_factor() has them.
void gather_dropout(const Head& head, const AttentionDropout& dropout, const Panel& panel, KeyRange keys,
                    float* factors) {
  const Floats d;
  const Words words;
  const auto kept = hn::Set(d, dropout.kept);
  const Integers integers;  // draws have 16 bits: signed comparison, which AVX2 has
  const auto threshold = hn::Set(integers, static_cast<std::int32_t>(dropout.threshold));
  const std::uint64_t index = head.sequence.index;
  for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
    const std::int64_t position = panel.begin + head.sequence.offset + vector * kLanes;
    WordsOfBlock counter{{hn::Set(words, static_cast<std::uint32_t>(index)),
                          hn::Iota(words, static_cast<std::uint32_t>(position)),
                          hn::Set(words, static_cast<std::uint32_t>(head.head) ^
                                             static_cast<std::uint32_t>(index >> 32) << 16),
                          hn::Zero(words)}};
    for (std::int64_t group = keys.begin / 8; group * 8 < keys.end; ++group) {
      counter.word[3] = hn::Set(words, static_cast<std::uint32_t>(group));
      const WordsOfBlock draws = philox_block(counter, dropout);
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t key = group * 8 + i;
        if (key < keys.begin || key >= keys.end) continue;
        const auto word = draws.word[i / 2];
        const auto draw = i % 2 == 0 ? hn::And(word, hn::Set(words, 0xFFFFu)) : hn::ShiftRight<16>(word);
        const auto dropped = hn::RebindMask(d, hn::Lt(hn::BitCast(integers, draw), threshold));
        hn::Store(hn::IfThenZeroElse(dropped, kept), d,
                  factors + (key - keys.begin) * kPanel + vector * kLanes);
      }
    }
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_ISA
