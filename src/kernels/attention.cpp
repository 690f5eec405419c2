#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace regard::kernels {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// One query row of one head: everything that forward and backward need of it.
struct Row {
  const Attention& p;
  const AttentionSequence& s;
  std::int64_t head, query;

  std::int64_t at() const { return s.query_begin + query; }
  std::int64_t kv_head() const { return head / (p.heads / p.kv_heads); }
  const float* q() const { return p.query + at() * p.query_stride + head * p.head_dim; }
  const float* k(std::int64_t key) const { return s.key + key * p.key_stride + kv_head() * p.head_dim; }
  const float* v(std::int64_t key) const { return s.value + key * p.value_stride + kv_head() * p.value_dim; }

  bool sees(std::int64_t key) const {
    const std::int64_t place = query + s.offset;
    if (p.causal && key > place) return false;
    if (p.window > 0 && std::abs(place - key) >= p.window) return false;
    return p.mask == nullptr || p.mask[s.mask_row * p.mask_sequence_stride + head * p.mask_head_stride +
                                       query * p.mask_query_stride + key] != 0;
  }
  std::int64_t bias_at(std::int64_t key) const {
    return s.mask_row * p.bias_sequence_stride + head * p.bias_head_stride + query * p.bias_query_stride +
           key;
  }
  // The score after softcap; before bias.
  float capped(std::int64_t key) const {
    float sum = 0.0f;
    for (std::int64_t d = 0; d < p.head_dim; ++d) sum = std::fma(q()[d], k(key)[d], sum);
    sum *= p.scale;
    return p.softcap > 0.0f ? p.softcap * std::tanh(sum / p.softcap) : sum;
  }
  float score(std::int64_t key, float capped_score) const {
    return p.bias != nullptr ? capped_score + p.bias[bias_at(key)] : capped_score;
  }
  // 0, or 1 / (1 − dropout).
  float kept(std::int64_t key) const {
    if (p.dropout <= 0.0f) return 1.0f;
    const auto words = fold(p.dropout_key);
    const Counter draw =
        philox({static_cast<std::uint32_t>(s.index), static_cast<std::uint32_t>(query + s.offset),
                static_cast<std::uint32_t>(head), static_cast<std::uint32_t>(key)},
               words[0], words[1]);
    return uniform(draw[0]) < p.dropout ? 0.0f : 1.0f / (1.0f - p.dropout);
  }
};

void forward_row(const Row& row, float* scores) {
  const Attention& p = row.p;
  float maximum = kMinusInfinity, sum = 0.0f;
  for (std::int64_t key = 0; key < row.s.keys; ++key) {
    scores[key] = row.sees(key) ? row.score(key, row.capped(key)) : kMinusInfinity;
    maximum = std::max(maximum, scores[key]);
  }
  float* out = p.out + row.at() * p.out_stride + row.head * p.value_dim;
  std::fill_n(out, p.value_dim, 0.0f);
  if (p.lse != nullptr) p.lse[row.at() * p.heads + row.head] = kMinusInfinity;
  if (maximum == kMinusInfinity) return;
  for (std::int64_t key = 0; key < row.s.keys; ++key) {
    if (scores[key] == kMinusInfinity) continue;
    const float weight = std::exp(scores[key] - maximum);
    sum += weight;
    const float kept = weight * row.kept(key);
    for (std::int64_t d = 0; d < p.value_dim; ++d) out[d] = std::fma(kept, row.v(key)[d], out[d]);
  }
  for (std::int64_t d = 0; d < p.value_dim; ++d) out[d] /= sum;
  if (p.lse != nullptr) p.lse[row.at() * p.heads + row.head] = maximum + std::log(sum);
}

void backward_row(const Row& row) {
  const Attention& p = row.p;
  const float lse = p.lse[row.at() * p.heads + row.head];
  const float* out = p.out + row.at() * p.out_stride + row.head * p.value_dim;
  const float* dout = p.out_gradient + row.at() * p.out_gradient_stride + row.head * p.value_dim;
  float* dq = p.query_gradient + row.at() * p.query_gradient_stride + row.head * p.head_dim;
  std::fill_n(dq, p.head_dim, 0.0f);
  if (lse == kMinusInfinity) return;
  float delta = 0.0f;
  for (std::int64_t d = 0; d < p.value_dim; ++d) delta = std::fma(out[d], dout[d], delta);
  for (std::int64_t key = 0; key < row.s.keys; ++key) {
    if (!row.sees(key)) continue;
    const float capped = row.capped(key), weight = std::exp(row.score(key, capped) - lse),
                kept = row.kept(key);
    float dweight = 0.0f;
    float* dv = row.s.value_gradient + key * p.value_gradient_stride + row.kv_head() * p.value_dim;
    float* dk = row.s.key_gradient + key * p.key_gradient_stride + row.kv_head() * p.head_dim;
    for (std::int64_t d = 0; d < p.value_dim; ++d) {
      dweight = std::fma(dout[d], row.v(key)[d], dweight);
      dv[d] = std::fma(weight * kept, dout[d], dv[d]);
    }
    float dscore = weight * (dweight * kept - delta);
    if (p.bias_gradient != nullptr) p.bias_gradient[row.bias_at(key)] += dscore;
    if (p.softcap > 0.0f) dscore *= 1.0f - capped / p.softcap * (capped / p.softcap);
    dscore *= p.scale;
    for (std::int64_t d = 0; d < p.head_dim; ++d) {
      dq[d] = std::fma(dscore, row.k(key)[d], dq[d]);
      dk[d] = std::fma(dscore, row.q()[d], dk[d]);
    }
  }
}

}  // namespace

void attention_forward(ThreadPool& pool, const Attention& p) {
  const auto sequences = static_cast<std::int64_t>(p.sequences.size());
  pool.parallel_for(sequences * p.heads, [&](std::int64_t task, int worker) {
    const AttentionSequence& s = p.sequences[static_cast<std::size_t>(task / p.heads)];
    auto* scores =
        reinterpret_cast<float*>(pool.scratch(worker, static_cast<std::size_t>(s.keys + 1) * sizeof(float)));
    for (std::int64_t query = 0; query < s.queries; ++query)
      forward_row({p, s, task % p.heads, query}, scores);
  });
}

void attention_backward(ThreadPool& pool, const Attention& p) {
  const auto sequences = static_cast<std::int64_t>(p.sequences.size());
  const bool shared_bias = p.bias_gradient != nullptr;  // several sequences or heads may add to one element
  const auto run = [&](std::int64_t sequence, std::int64_t kv_head) {
    const AttentionSequence& s = p.sequences[static_cast<std::size_t>(sequence)];
    for (std::int64_t key = 0; key < s.keys; ++key) {
      std::fill_n(s.key_gradient + key * p.key_gradient_stride + kv_head * p.head_dim, p.head_dim, 0.0f);
      std::fill_n(s.value_gradient + key * p.value_gradient_stride + kv_head * p.value_dim, p.value_dim,
                  0.0f);
    }
    const std::int64_t group = p.heads / p.kv_heads;
    for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (std::int64_t query = 0; query < s.queries; ++query) backward_row({p, s, head, query});
  };
  if (shared_bias) {
    for (std::int64_t task = 0; task < sequences * p.kv_heads; ++task)
      run(task / p.kv_heads, task % p.kv_heads);
    return;
  }
  pool.parallel_for(sequences * p.kv_heads,
                    [&](std::int64_t task, int) { run(task / p.kv_heads, task % p.kv_heads); });
}

void attention_weights(const Attention& p, std::int64_t sequence, std::int64_t head, float* weights) {
  const AttentionSequence& s = p.sequences[static_cast<std::size_t>(sequence)];
  for (std::int64_t query = 0; query < s.queries; ++query) {
    const Row row{p, s, head, query};
    const float lse = p.lse[row.at() * p.heads + head];
    for (std::int64_t key = 0; key < s.keys; ++key)
      weights[query * s.keys + key] =
          row.sees(key) && lse != kMinusInfinity ? std::exp(row.score(key, row.capped(key)) - lse) : 0.0f;
  }
}

}  // namespace regard::kernels
