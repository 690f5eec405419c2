// torch.nn.MultiheadAttention composed of linear layers and attention: output and gradients.
#include <gtest/gtest.h>

#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/padding.h"
#include "support/golden.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using testing::expect_gradient;
using testing::expect_output;
using testing::Golden;

class TorchAttention : public ::testing::TestWithParam<std::string> {
 protected:
  // Return the weight of the query (0), key (1) or value (2). PyTorch stores one tensor, or three if their
  // widths differ.
  Tensor weight(int which) const {
    const std::array<const char*, 3> apart{"param.q_proj_weight", "param.k_proj_weight",
                                           "param.v_proj_weight"};
    if (!golden_.has("param.in_proj_weight")) return golden_.tensor(apart[static_cast<std::size_t>(which)]);
    return third("param.in_proj_weight", which);
  }
  Tensor third(const std::string& name, int which) const {
    const Tensor joint = golden_.tensor(name);
    const std::int64_t size = joint.shape()[0] / 3;
    return joint.slice_rows(which * size, (which + 1) * size);
  }
  Var variable(const Tensor& value) {
    const std::int64_t features = value.columns();
    return tape_.input(
        value.shape().rank() == 1 ? value : value.reshape({value.elements() / features, features}), true);
  }
  void expect_weight_gradient(Var weight, int which) const {
    const std::array<const char*, 3> apart{"grad.param.q_proj_weight", "grad.param.k_proj_weight",
                                           "grad.param.v_proj_weight"};
    expect_gradient(weight->gradient,
                    golden_.has("grad.param.in_proj_weight")
                        ? third("grad.param.in_proj_weight", which)
                        : golden_.tensor(apart[static_cast<std::size_t>(which)]),
                    "weight " + std::to_string(which));
  }

  // Set the mask, bias or causal order of the golden file for `queries` queries and `length` keys.
  void set_mask(ops::AttentionOptions& options, std::int64_t queries, std::int64_t length) {
    if (!golden_.has("in.attn_mask")) return;
    const Tensor mask = golden_.tensor("in.attn_mask");
    if (mask.dtype() == DType::f32) {
      options.bias = variable(mask);
      options.bias_query_stride = length;
    } else if (mask.shape().rank() == 3) {  // [batch × heads, query, key]
      for (std::int64_t i = 0; i < mask.elements(); ++i) may_attend_.push_back(mask.u8()[i] == 0 ? 1 : 0);
      options.mask = may_attend_.data();
      options.mask_query_stride = length;
      options.mask_head_stride = queries * length;
      options.mask_sequence_stride = options.heads * queries * length;
    } else {
      options.causal = true;
      options.causal_alignment = CausalAlignment::start;
    }
  }

  Golden golden_{"tf-layer", GetParam()};
  ThreadPool pool_{2};
  Arena arena_;
  Tape tape_{pool_, arena_};
  std::vector<std::uint8_t> may_attend_;
};

TEST_P(TorchAttention, OutputAndGradients) {
  tape_.begin({.record = true});
  const Tensor query_tensor = golden_.tensor("in.query");
  const std::int64_t batch = query_tensor.shape()[0], queries = query_tensor.shape()[1];
  const bool self = !golden_.has("in.key");
  Var query_in = variable(query_tensor);
  Var key_in = self ? query_in : variable(golden_.tensor("in.key"));
  Var value_in = self ? query_in : variable(golden_.tensor("in.value"));
  const std::int64_t length = key_in->value.rows() / batch;

  // Queries are not masked, so every query has an output; masked keys are removed.
  const Padding query_places = Padding::none(batch, queries);
  std::vector<std::uint8_t> kept(static_cast<std::size_t>(batch * length), 1);
  if (golden_.has("in.key_padding_mask"))
    for (std::size_t i = 0; i < kept.size(); ++i)
      kept[i] = golden_.tensor("in.key_padding_mask").u8()[i] == 0 ? 1 : 0;
  const Padding key_places(batch, length, kept);

  const bool bias = golden_.has("param.in_proj_bias");
  std::array<Var, 3> weights{}, biases{};
  for (int i = 0; i < 3; ++i) {
    weights[static_cast<std::size_t>(i)] = variable(weight(i));
    if (bias) biases[static_cast<std::size_t>(i)] = variable(third("param.in_proj_bias", i));
  }
  Var out_weight = variable(golden_.tensor("param.out_proj.weight"));
  Var out_bias = bias ? variable(golden_.tensor("param.out_proj.bias")) : nullptr;

  ops::AttentionOptions options;
  options.heads = golden_.about()["num_heads"].get<std::int64_t>();
  options.head_dim = query_tensor.columns() / options.heads;
  set_mask(options, queries, length);
  Var query = ops::linear(tape_, query_in, weights[0], biases[0]);
  Var key = ops::linear(tape_, ops::select_rows(tape_, key_in, key_places.rows()), weights[1], biases[1]);
  Var value = ops::linear(tape_, ops::select_rows(tape_, value_in, key_places.rows()), weights[2], biases[2]);
  Var context =
      ops::attention(tape_, {query}, {key}, {value}, query_places.shape(), key_places.shape(), options);
  Var out = ops::linear(tape_, context, out_weight, out_bias);
  expect_output(out->value, golden_.tensor("out.output"), "output");

  const Tensor upstream = golden_.tensor("r.output");
  std::copy_n(upstream.f32(), upstream.elements(), tape_.gradient(out).data);
  tape_.backward(out);
  expect_gradient(query_in->gradient, golden_.tensor("grad.in.query"), "query");
  if (!self) {
    expect_gradient(key_in->gradient, golden_.tensor("grad.in.key"), "key");
    expect_gradient(value_in->gradient, golden_.tensor("grad.in.value"), "value");
  }
  if (golden_.has("grad.in.attn_mask"))
    expect_gradient(options.bias->gradient, golden_.tensor("grad.in.attn_mask"), "mask");
  for (int i = 0; i < 3; ++i) {
    expect_weight_gradient(weights[static_cast<std::size_t>(i)], i);
    if (bias)
      expect_gradient(biases[static_cast<std::size_t>(i)]->gradient, third("grad.param.in_proj_bias", i),
                      "bias " + std::to_string(i));
  }
  expect_gradient(out_weight->gradient, golden_.tensor("grad.param.out_proj.weight"), "out_proj.weight");
  if (bias) expect_gradient(out_bias->gradient, golden_.tensor("grad.param.out_proj.bias"), "out_proj.bias");
}

INSTANTIATE_TEST_SUITE_P(Cases, TorchAttention,
                         ::testing::Values("mha-self", "mha-cross-padding", "mha-causal-padding",
                                           "mha-nobias", "mha-floatmask", "mha-kdim-vdim"));

}  // namespace
}  // namespace regard::testing
