#include "ops/attention_probe.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/inner_product.h"
#include "ops/plain/attention.h"
#include "ops/replacing_probe.h"

namespace regard::ops {
namespace {

using kernels::AttentionSequence;

// Return, for each head, whether the probe requests the head's attention weights.
std::vector<bool> shown_heads(Tape& tape, std::string_view point, std::int64_t heads) {
  std::vector<bool> shown(static_cast<std::size_t>(heads));
  if (tape.probe->wants(std::string(point) + ".weights"))
    for (std::int64_t h = 0; h < heads; ++h)
      shown[static_cast<std::size_t>(h)] = tape.probe->wants_head(point, h);
  return shown;
}

std::vector<bool> replaced_heads(Tape& tape, std::string_view point, std::int64_t heads) {
  std::vector<bool> replaced(static_cast<std::size_t>(heads));
  if (ReplacingProbe* probe = replacing_probe(tape))
    for (std::int64_t h = 0; h < heads; ++h)
      replaced[static_cast<std::size_t>(h)] = probe->replaces_weights(point, h);
  return replaced;
}

bool any(const std::vector<bool>& flags) {
  for (const bool flag : flags)
    if (flag) return true;
  return false;
}

// Return a mask [queries, keys]: 1 if the query may attend to the key, else 0.
std::vector<std::uint8_t> allowed_keys(const kernels::Attention& problem, const AttentionSequence& sequence,
                                       std::int64_t head) {
  plain::Attention<float> rule;
  rule.causal = problem.causal, rule.window = problem.window, rule.offset = sequence.offset;
  rule.mask =
      problem.mask == nullptr ? nullptr : problem.mask + sequence.mask_row * problem.mask_sequence_stride;
  rule.mask_head_stride = problem.mask_head_stride, rule.mask_query_stride = problem.mask_query_stride;
  std::vector<std::uint8_t> allowed(static_cast<std::size_t>(sequence.queries * sequence.keys));
  for (std::int64_t query = 0; query < sequence.queries; ++query)
    for (std::int64_t key = 0; key < sequence.keys; ++key)
      allowed[static_cast<std::size_t>(query * sequence.keys + key)] =
          plain::may_attend(rule, head, query, key) ? 1 : 0;
  return allowed;
}

const float* value_row(const kernels::Attention& problem, const AttentionSequence& sequence,
                       std::int64_t kv_head, std::int64_t key) {
  const kernels::AttentionPages& pages = sequence.pages;
  if (pages.at != nullptr) return pages.row(pages.value, problem.value_dim, kv_head, key);
  return sequence.value + key * problem.value_stride + kv_head * problem.value_dim;
}

// Compute out_i = Σ_j w_ij v_j for one head. The weights of masked keys must be 0.
void apply_weights(const kernels::Attention& problem, const AttentionSequence& sequence, std::int64_t head,
                   const float* weights) {
  const std::int64_t kv_head = head / (problem.heads / problem.kv_heads);
  std::vector<double> sum(static_cast<std::size_t>(problem.value_dim));
  for (std::int64_t query = 0; query < sequence.queries; ++query) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::int64_t key = 0; key < sequence.keys; ++key) {
      const float weight = weights[query * sequence.keys + key];
      if (weight == 0.0f) continue;  // the cache may have released the page of a masked key
      const float* value = value_row(problem, sequence, kv_head, key);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += static_cast<double>(weight) * static_cast<double>(value[i]);
    }
    float* out = problem.out + (sequence.query_begin + query) * problem.out_stride + head * problem.value_dim;
    for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(sum[i]);
  }
}

template <class T>
T* kept(Tape& tape, const T* values, std::int64_t count) {
  const std::span<T> copy = tape.arena().array<T>(static_cast<std::size_t>(count));
  std::copy_n(values, count, copy.begin());
  return copy.data();
}

// Call the probe, which replaces the attention weights of a head in place. Then recompute the head's output.
ReplacedHead replace_head(Tape& tape, const kernels::Attention& problem, std::int64_t s, std::int64_t head,
                          std::string_view point, float* weights) {
  const AttentionSequence& sequence = problem.sequences[static_cast<std::size_t>(s)];
  const std::vector<std::uint8_t> allowed = allowed_keys(problem, sequence, head);
  const std::int64_t size = sequence.queries * sequence.keys;
  ReplacedHead replaced{s, head, nullptr, nullptr, nullptr, nullptr};
  std::vector<float> slope;
  if (tape.recording()) {
    slope.assign(static_cast<std::size_t>(size), 1.0f);
    replaced.computed = kept(tape, weights, size);
  }
  ProbedWeights probed;
  probed.sequence = s, probed.head = head;
  probed.queries = sequence.queries, probed.keys = sequence.keys;
  probed.allowed = allowed.data(), probed.weights = weights;
  probed.slope = slope.empty() ? nullptr : slope.data();
  replacing_probe(tape)->replace_weights(point, probed);
  for (std::size_t i = 0; i < allowed.size(); ++i)
    if (allowed[i] == 0) weights[i] = 0.0f;
  apply_weights(problem, sequence, head, weights);
  if (tape.recording()) {
    replaced.used = kept(tape, weights, size), replaced.slope = kept(tape, slope.data(), size);
    replaced.allowed = kept(tape, allowed.data(), size);
  }
  return replaced;
}

// Return d score / d (q · k), including the softcap.
double score_slope(const kernels::Attention& problem, const float* query, const float* key) {
  const double scale = static_cast<double>(problem.scale), cap = static_cast<double>(problem.softcap);
  if (cap <= 0) return scale;
  const double bent = std::tanh(scale * inner_product(query, key, problem.head_dim) / cap);
  return scale * (1 - bent * bent);
}

// Adds the gradients of one replaced head in one sequence to the gradients of query, key, value and bias in
// `problem`.
class HeadBackward {
 public:
  HeadBackward(const kernels::Attention& problem, const ReplacedHead& head)
      : problem_(problem),
        head_(head),
        sequence_(problem.sequences[static_cast<std::size_t>(head.sequence)]),
        kv_head_(head.head / (problem.heads / problem.kv_heads)) {}

  void run() const {
    // derivative of the loss with respect to each attention weight before the replacement
    std::vector<double> change(static_cast<std::size_t>(sequence_.keys));
    for (std::int64_t query = 0; query < sequence_.queries; ++query) {
      const std::int64_t row = query * sequence_.keys;
      const float* out = problem_.out_gradient +
                         (sequence_.query_begin + query) * problem_.out_gradient_stride +
                         head_.head * problem_.value_dim;
      double sum = 0;
      for (std::int64_t key = 0; key < sequence_.keys; ++key) {
        double& at = change[static_cast<std::size_t>(key)];
        at = 0;
        if (head_.allowed[row + key] == 0) continue;
        const std::int64_t column = kv_head_ * problem_.value_dim;
        at = static_cast<double>(head_.slope[row + key]) *
             inner_product(out, sequence_.value + key * problem_.value_stride + column, problem_.value_dim);
        add(sequence_.value_gradient + key * problem_.value_gradient_stride + column, out,
            static_cast<double>(head_.used[row + key]), problem_.value_dim);
        sum += at * static_cast<double>(head_.computed[row + key]);
      }
      for (std::int64_t key = 0; key < sequence_.keys; ++key)
        if (head_.allowed[row + key] != 0)
          add_score(
              query, key,
              static_cast<double>(head_.computed[row + key]) * (change[static_cast<std::size_t>(key)] - sum));
    }
  }

 private:
  static void add(float* to, const float* from, double factor, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      to[i] += static_cast<float>(factor * static_cast<double>(from[i]));
  }

  void add_score(std::int64_t query, std::int64_t key, double gradient) const {
    const std::int64_t row = sequence_.query_begin + query, column = kv_head_ * problem_.head_dim;
    if (problem_.bias_gradient != nullptr)
      problem_
          .bias_gradient[head_.head * problem_.bias_head_stride + query * problem_.bias_query_stride + key] +=
          static_cast<float>(gradient);
    const float* q = problem_.query + row * problem_.query_stride + head_.head * problem_.head_dim;
    const float* k = sequence_.key + key * problem_.key_stride + column;
    const double factor = gradient * score_slope(problem_, q, k);
    add(problem_.query_gradient + row * problem_.query_gradient_stride + head_.head * problem_.head_dim, k,
        factor, problem_.head_dim);
    add(sequence_.key_gradient + key * problem_.key_gradient_stride + column, q, factor, problem_.head_dim);
  }

  const kernels::Attention& problem_;
  const ReplacedHead& head_;
  const AttentionSequence& sequence_;
  std::int64_t kv_head_;
};

}  // namespace

bool probes_weights(Tape& tape, std::string_view point, std::int64_t heads) {
  if (tape.probe == nullptr || point.empty()) return false;
  return any(replaced_heads(tape, point, heads)) || any(shown_heads(tape, point, heads));
}

std::span<const ReplacedHead> probe_weights(Tape& tape, const kernels::Attention& problem,
                                            std::string_view point) {
  const std::vector<bool> shown = shown_heads(tape, point, problem.heads);
  const std::int64_t shown_count = std::count(shown.begin(), shown.end(), true);
  const std::vector<bool> replaced = replaced_heads(tape, point, problem.heads);
  const std::string name = std::string(point) + ".weights";
  std::vector<ReplacedHead> all;
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    const AttentionSequence& sequence = problem.sequences[s];
    const std::int64_t size = sequence.queries * sequence.keys;
    const Tensor weights = Tensor::empty({shown_count, sequence.queries, sequence.keys});
    Tensor spare;  // buffer for a head whose weights the probe replaces but did not request
    float* next = weights.f32();
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      const bool shows = shown[static_cast<std::size_t>(h)], changes = replaced[static_cast<std::size_t>(h)];
      if (!shows && !changes) continue;
      if (!shows && !spare.defined()) spare = Tensor::empty({sequence.queries, sequence.keys});
      float* of_head = shows ? std::exchange(next, next + size) : spare.f32();
      kernels::attention_weights(problem, static_cast<std::int64_t>(s), h, of_head);
      if (changes)
        all.push_back(replace_head(tape, problem, static_cast<std::int64_t>(s), h, point, of_head));
    }
    if (shown_count > 0) tape.probe->see(name, static_cast<std::int64_t>(s), weights);
  }
  if (!tape.recording() || all.empty()) return {};
  return {kept(tape, all.data(), std::ssize(all)), all.size()};
}

void attention_backward(Tape& tape, kernels::Attention& problem, std::span<const ReplacedHead> replaced) {
  if (replaced.empty()) return kernels::attention_backward(tape.pool(), problem);
  // Set the output gradient of the replaced heads to zero: HeadBackward computes their gradients, so the
  // kernel must add nothing.
  const float* whole = problem.out_gradient;
  std::int64_t rows = 0;
  for (const AttentionSequence& sequence : problem.sequences)
    rows = std::max(rows, sequence.query_begin + sequence.queries);
  const std::int64_t count = rows * problem.out_gradient_stride;
  float* others = tape.take(count);
  std::copy_n(whole, count, others);
  for (const ReplacedHead& one : replaced) {
    const AttentionSequence& sequence = problem.sequences[static_cast<std::size_t>(one.sequence)];
    for (std::int64_t query = 0; query < sequence.queries; ++query)
      std::fill_n(others + (sequence.query_begin + query) * problem.out_gradient_stride +
                      one.head * problem.value_dim,
                  problem.value_dim, 0.0f);
  }
  problem.out_gradient = others;
  kernels::attention_backward(tape.pool(), problem);
  problem.out_gradient = whole;
  tape.recycle(others, count);
  for (const ReplacedHead& one : replaced) HeadBackward(problem, one).run();
}

}  // namespace regard::ops
