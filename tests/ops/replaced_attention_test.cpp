// Gradients of attention whose weights a probe changes, compared with a reference implementation in double:
// grouped heads, a causal mask, softcap, a trainable bias, several sequences.
#include <gtest/gtest.h>

#include "ops/attention.h"
#include "ops/plain/attention.h"
#include "ops/ragged.h"
#include "ops/replacing_probe.h"
#include "support/namespaces.h"
#include "support/operation_case.h"

namespace regard::testing {
namespace {

using testing::Numbers;

constexpr std::int64_t kHeads = 4, kGroups = 2, kSize = 5, kLongest = 7;
const std::vector<std::int64_t> kLengths{4, 1, kLongest};

// Change a weight and its slope: in head 1, multiply the weights of even keys by −0.5; in head 2, set the
// weights of keys 1 and 3 to 0.75 and 0.25, and all others to 0.
template <class T>
void change(std::int64_t head, std::int64_t key, T& weight, T& slope) {
  if (head == 1 && key % 2 == 0) weight *= T(-0.5), slope *= T(-0.5);
  if (head == 2) weight = key == 1 ? T(0.75) : key == 3 ? T(0.25) : T(0), slope = 0;
}

struct ChangingProbe : ReplacingProbe {
  bool wants(std::string_view) override { return false; }
  void see(std::string_view, std::int64_t, const Tensor&) override {}
  bool replaces_weights(std::string_view, std::int64_t head) override { return head == 1 || head == 2; }
  void replace_weights(std::string_view, const ProbedWeights& at) override {
    ASSERT_NE(at.slope, nullptr);
    for (std::int64_t i = 0; i < at.queries * at.keys; ++i)
      change(at.head, i % at.keys, at.weights[i], at.slope[i]);
  }
};

Numbers plain_attention(std::span<const Numbers> v, const ops::AttentionOptions& options) {
  Numbers out;
  std::int64_t row = 0;
  for (const std::int64_t length : kLengths) {
    plain::Attention<double> problem;
    problem.queries = problem.keys = length;
    problem.heads = kHeads, problem.kv_heads = kGroups, problem.head_dim = problem.value_dim = kSize;
    problem.scale = static_cast<double>(options.scale),
    problem.softcap = static_cast<double>(options.softcap);
    problem.causal = options.causal;
    problem.query = v[0].data() + row * kHeads * kSize, problem.key = v[1].data() + row * kGroups * kSize;
    problem.value = v[2].data() + row * kGroups * kSize;
    problem.bias = v[3].data();
    problem.bias_head_stride = options.bias_head_stride,
    problem.bias_query_stride = options.bias_query_stride;
    const plain::AttentionResult<double> result = plain::attention(problem);
    for (std::int64_t query = 0; query < length; ++query)
      for (std::int64_t head = 0; head < kHeads; ++head)
        for (std::int64_t i = 0; i < kSize; ++i) {
          double sum = 0;
          for (std::int64_t key = 0; key < length; ++key) {
            double weight = result.weight[static_cast<std::size_t>((head * length + query) * length + key)];
            double slope = 1;
            change(head, key, weight, slope);
            if (plain::may_attend(problem, head, query, key))
              sum += weight * problem.value[(key * kGroups + head / (kHeads / kGroups)) * kSize + i];
          }
          out.push_back(sum);
        }
    row += length;
  }
  return out;
}

TEST(ReplacedAttention, HasTheGradientsOfItsWeights) {
  RaggedBuffer shape;
  std::int64_t rows = 0;
  for (const std::int64_t length : kLengths) shape.add(length, 0), rows += length;
  for (const bool causal : {false, true}) {
    ops::AttentionOptions options;
    options.heads = kHeads, options.kv_heads = kGroups, options.head_dim = kSize;
    options.scale = 0.5f, options.softcap = causal ? 2.0f : 0.0f, options.causal = causal;
    options.bias_head_stride = kLongest * kLongest, options.bias_query_stride = kLongest;
    options.point = "encoder.0.self";
    testing::OperationCase replaced;
    replaced.name = "attention with replaced weights";
    replaced.inputs = {{rows, kHeads * kSize},
                       {rows, kGroups * kSize},
                       {rows, kGroups * kSize},
                       {kHeads, kLongest, kLongest}};
    ChangingProbe probe;
    replaced.operation = [&](Tape& tape, std::span<const Var> v) {
      ops::AttentionOptions with = options;
      with.bias = v[3];
      tape.probe = &probe;
      Var out = ops::attention(tape, {v[0]}, {v[1]}, {v[2]}, shape.view(), shape.view(), with);
      tape.probe = nullptr;
      return out;
    };
    replaced.plain = [&](std::span<const Numbers> v) { return plain_attention(v, options); };
    replaced.samples = 200;
    testing::check_operation(replaced, causal ? 1 : 2);
  }
}

}  // namespace
}  // namespace regard::testing
