// The inner loops of attention for one instruction set.
#include "kernels/simd/attention_backward.h"
#include "kernels/simd/attention_decode.h"

namespace regard::kernels::REGARD_ISA {
namespace {

struct WeightsScratch {
  float *key = nullptr, *scores = nullptr, *added = nullptr, *query = nullptr, *lse = nullptr;
  float* rows = nullptr;  // [kPanel, kKeyBlock]
  std::size_t bytes = 0;

  WeightsScratch(const Attention& problem, std::byte* memory) {
    Carver carver(memory);
    key = carver.floats(kKeyBlock * pad(problem.head_dim));
    scores = carver.floats(kKeyBlock * kPanel);
    added = carver.floats(kKeyBlock * kPanel);
    query = carver.floats(kPanel * problem.head_dim);
    lse = carver.floats(kPanel);
    rows = carver.floats(kPanel * kKeyBlock);
    bytes = carver.used();
  }
};

std::size_t weights_bytes(const Attention& problem) {
  return WeightsScratch(problem, nullptr).bytes;
}

// Recompute the attention weights with the same steps as the backward pass.
void weights(const Attention& problem, const AttentionRows& asked, float* out, std::byte* memory) {
  const Head head = head_of(problem, asked);
  const WeightsScratch scratch(problem, memory);
  const ScoreRule rule(problem);
  const std::int64_t keys = head.sequence.keys;
  for (std::int64_t i = asked.query_begin * keys; i < asked.query_end * keys; ++i) out[i] = 0.0f;
  for (std::int64_t begin = asked.query_begin; begin < asked.query_end; begin += kPanel) {
    const Panel panel{begin, smaller(kPanel, asked.query_end - begin), kPanel};
    copy_transposed(head.query_rows(panel.begin, panel.begin + panel.queries), scratch.query, kPanel);
    gather_lse(head, panel, scratch.lse);
    const KeyRange seen = head.seen_by(panel.begin, panel.last());
    for (std::int64_t at = seen.begin; at < seen.end; at += kKeyBlock) {
      const KeyRange block{at, smaller(at + kKeyBlock, seen.end)};
      const std::int64_t count = block.end - block.begin;
      gather_keys(head, block, scratch.key);
      const Scope scope(head, panel, block);
      multiply_scores(panel, scope, {problem.head_dim, scratch.key, scratch.query, scratch.scores}, nullptr);
      finish_scores(head, rule, panel, scope, scratch.scores, scratch.added, nullptr);
      for (std::int64_t vector = 0; vector < panel.vectors(); ++vector) {
        const Column column{scratch.scores + vector * kLanes, kPanel, scope.rows(vector)};
        weights_from_lse(rule.log2_factor, column, scratch.lse + vector * kLanes);
        clear_rows(column, count);
      }
      copy_transposed({scratch.scores, kPanel, count, panel.queries}, scratch.rows, pad(count));
      store_rows(scratch.rows, panel.queries, count, out + begin * keys + at, keys);
    }
  }
}

void forward_rows(const Attention& problem, const AttentionDropout& dropout, const AttentionRows& asked,
                  const AttentionRows* following, std::byte* memory) {
  const Head head = head_of(problem, asked);
  const ScoreRule rule(problem);
  if (is_decoding(head, rule, asked))
    return forward_few(head, rule, asked, following, ForwardScratch(problem, memory));
  forward(problem, dropout, asked, following, memory);
}

}  // namespace

extern const AttentionTable attention_table;
constinit const AttentionTable attention_table{kPanel,        kForwardQueries, kBackwardKeys,  kBackwardPanel,
                                               forward_bytes, forward_rows,    backward_bytes, backward,
                                               weights_bytes, weights};

}  // namespace regard::kernels::REGARD_ISA
