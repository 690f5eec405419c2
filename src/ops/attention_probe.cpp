#include "ops/attention_probe.h"

#include <string>
#include <vector>

#include "ops/plain/attention.h"
#include "ops/replacing_probe.h"
#include "regard/error.h"

namespace regard::ops {
namespace {

using kernels::AttentionSequence;

bool shows_weights(Tape& tape, std::string_view point) {
  return tape.probe->wants(std::string(point) + ".weights");
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

// Return a mask [queries, keys] of the keys that each query of the sequence may attend to.
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
                       std::int64_t key) {
  const kernels::AttentionPages& pages = sequence.pages;
  if (pages.at == nullptr) return sequence.value + key * problem.value_stride;
  return pages.at[key / pages.rows] + pages.value + key % pages.rows * problem.value_stride;
}

// out_i = Σ_j w_ij v_j for one head.
void apply_weights(const kernels::Attention& problem, const AttentionSequence& sequence, std::int64_t head,
                   const float* weights, const std::vector<std::uint8_t>& allowed) {
  const std::int64_t column = head / (problem.heads / problem.kv_heads) * problem.value_dim;
  std::vector<double> sum(static_cast<std::size_t>(problem.value_dim));
  for (std::int64_t query = 0; query < sequence.queries; ++query) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::int64_t key = 0; key < sequence.keys; ++key) {
      const auto at = static_cast<std::size_t>(query * sequence.keys + key);
      // A cache may have released the page of a hidden key.
      if (allowed[at] == 0 || weights[at] == 0.0f) continue;
      const float* value = value_row(problem, sequence, key) + column;
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += static_cast<double>(weights[at]) * static_cast<double>(value[i]);
    }
    float* out = problem.out + (sequence.query_begin + query) * problem.out_stride + head * problem.value_dim;
    for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(sum[i]);
  }
}

void replace_head(Tape& tape, const kernels::Attention& problem, std::int64_t s, std::int64_t head,
                  std::string_view point, float* weights) {
  const AttentionSequence& sequence = problem.sequences[static_cast<std::size_t>(s)];
  const std::vector<std::uint8_t> allowed = allowed_keys(problem, sequence, head);
  ProbedWeights probed;
  probed.sequence = s, probed.head = head;
  probed.queries = sequence.queries, probed.keys = sequence.keys;
  probed.allowed = allowed.data(), probed.weights = weights;
  replacing_probe(tape)->replace_weights(point, probed);
  for (std::size_t i = 0; i < allowed.size(); ++i)
    if (allowed[i] == 0) weights[i] = 0.0f;
  apply_weights(problem, sequence, head, weights, allowed);
}

}  // namespace

bool probes_weights(Tape& tape, std::string_view point, std::int64_t heads) {
  if (tape.probe == nullptr || point.empty()) return false;
  const bool replaces = any(replaced_heads(tape, point, heads));
  if (replaces && tape.recording())
    throw usage_error("attention: weights cannot be replaced in a pass that records gradients")
        .at({std::string(point), -1, -1});
  return replaces || shows_weights(tape, point);
}

void probe_weights(Tape& tape, const kernels::Attention& problem, std::string_view point) {
  const bool shown = shows_weights(tape, point);
  const std::vector<bool> replaced = replaced_heads(tape, point, problem.heads);
  const std::string name = std::string(point) + ".weights";
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    const AttentionSequence& sequence = problem.sequences[s];
    const std::int64_t size = sequence.queries * sequence.keys;
    const Tensor weights = Tensor::empty({shown ? problem.heads : 1, sequence.queries, sequence.keys});
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      const bool changes = replaced[static_cast<std::size_t>(h)];
      if (!shown && !changes) continue;
      float* of_head = weights.f32() + (shown ? h * size : 0);
      kernels::attention_weights(problem, static_cast<std::int64_t>(s), h, of_head);
      if (changes) replace_head(tape, problem, static_cast<std::int64_t>(s), h, point, of_head);
    }
    if (shown) tape.probe->see(name, static_cast<std::int64_t>(s), weights);
  }
}

}  // namespace regard::ops
