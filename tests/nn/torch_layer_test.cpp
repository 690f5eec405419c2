// Blocks configured like PyTorch's layers, and like its whole Transformer, have PyTorch's outputs and
// gradients.
#include <gtest/gtest.h>

#include <memory>

#include "nn/block.h"
#include "ops/padding.h"
#include "support/golden.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using testing::expect_gradient;
using testing::expect_output;
using testing::Golden;

// Return the config of a layer with the names and norms of torch.nn.
nn::BlockConfig torch_config(const Json& about, bool decoder) {
  nn::BlockConfig block;
  nn::AttentionConfig attention;
  attention.hidden = about["d_model"].get<std::int64_t>();
  attention.heads = about["nhead"].get<std::int64_t>();
  block.self = attention;
  block.self.causal = decoder;
  block.self.query = "self_attn.query", block.self.key = "self_attn.key";
  block.self.value = "self_attn.value", block.self.output = "self_attn.out_proj";
  block.has_cross = decoder;
  block.cross = attention;
  block.cross.cross = true;
  block.cross.query = "multihead_attn.query", block.cross.key = "multihead_attn.key";
  block.cross.value = "multihead_attn.value", block.cross.output = "multihead_attn.out_proj";
  block.feed_forward.hidden = attention.hidden;
  block.feed_forward.inner = about["dim_feedforward"].get<std::int64_t>();
  block.feed_forward.activation =
      about["activation"] == "relu" ? kernels::Activation::relu : kernels::Activation::gelu;
  block.feed_forward.up = "linear1", block.feed_forward.down = "linear2";
  const auto norm = [&](const char* name) {
    return about["norm_first"].get<bool>() ? nn::NormNames{name, "", ""} : nn::NormNames{"", "", name};
  };
  block.self_norm = norm("norm1");
  if (decoder) block.cross_norm = norm("norm2");
  block.feed_forward_norm = norm(decoder ? "norm3" : "norm2");
  return block;
}

// Return the golden tensor `name`. PyTorch joins query, key and value in one tensor: "….self_attn.key.weight"
// is the second third of "….self_attn.in_proj_weight".
Tensor golden_of(const Golden& golden, const std::string& prefix, const std::string& name) {
  if (golden.has(prefix + name)) return golden.tensor(prefix + name);
  const std::array<std::string, 3> parts{".query.", ".key.", ".value."};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t at = name.find(parts[i]);
    if (at == std::string::npos) continue;
    const Tensor joint =
        golden.tensor(prefix + name.substr(0, at) + ".in_proj_" + name.substr(at + parts[i].size()));
    const std::int64_t third = joint.shape()[0] / 3;
    const auto begin = static_cast<std::int64_t>(i) * third;
    return joint.slice_rows(begin, begin + third);
  }
  throw std::runtime_error("no golden for " + name);
}

void load(const Golden& golden, const std::vector<Parameter*>& parameters) {
  for (Parameter* parameter : parameters) {
    const Tensor value = golden_of(golden, "param.", parameter->name);
    ASSERT_EQ(value.shape(), parameter->value().shape()) << parameter->name;
    parameter->allocate();
    std::copy_n(value.f32(), value.elements(), parameter->value().f32());
    parameter->set_trainable(true);
  }
}

void compare_gradients(const Golden& golden, const std::vector<Parameter*>& parameters) {
  for (const Parameter* parameter : parameters)
    expect_gradient(parameter->gradient(), golden_of(golden, "grad.param.", parameter->name),
                    parameter->name);
}

Padding padding_of(const Golden& golden, const std::string& values, const std::string& mask) {
  const Shape shape = golden.tensor(values).shape();
  if (!golden.has(mask)) return Padding::none(shape[0], shape[1]);
  const Tensor ignored = golden.tensor(mask);
  std::vector<std::uint8_t> kept;
  for (std::int64_t i = 0; i < ignored.elements(); ++i) kept.push_back(ignored.u8()[i] == 0 ? 1 : 0);
  return {shape[0], shape[1], kept};
}

// A probe that compares the self-attention weights with the golden ones [batch, heads, length, length], whose
// padding is at the end.
class WeightsProbe : public Probe {
 public:
  WeightsProbe(const Golden& golden, std::string point) : golden_(golden), point_(std::move(point)) {}
  bool wants(std::string_view point) override { return point == point_; }
  void see(std::string_view, std::int64_t sequence, const Tensor& weights) override {
    ++seen;
    const Tensor all = golden_.tensor("out.attn_weights");
    const std::int64_t heads = weights.shape()[0], tokens = weights.shape()[1], length = all.shape()[2];
    const Tensor expected = Tensor::empty(weights.shape());
    for (std::int64_t row = 0; row < heads * tokens; ++row) {
      const std::int64_t head = row / tokens, query = row % tokens;
      std::copy_n(all.f32() + ((sequence * heads + head) * length + query) * length, tokens,
                  expected.row(row));
    }
    expect_output(weights, expected, "weights of sequence " + std::to_string(sequence));
  }
  int seen = 0;

 private:
  const Golden& golden_;
  std::string point_;
};

// Fixture with a golden case and a tape. It keeps the input tensors, which must outlive the tape.
class TorchLayer : public ::testing::TestWithParam<std::string> {
 protected:
  Var input(const Padding& padding, const std::string& name) {
    kept_.push_back(padding.remove(golden_.tensor(name)));
    return tape_.input(kept_.back(), true);
  }
  void backward(Var out, const Padding& padding) {
    const Tensor upstream = padding.remove(golden_.tensor("r.output"));
    std::copy_n(upstream.f32(), upstream.elements(), tape_.gradient(out).data);
    tape_.backward(out);
  }
  void expect_output_at_tokens(Var out, const Padding& padding, const std::string& name) {
    expect_output(out->value, padding.remove(golden_.tensor(name)), name);
  }
  // Compare the gradient at all positions. At padded positions, the golden gradient is zero.
  void expect_gradient_everywhere(Var input, const Padding& padding, const std::string& name) {
    expect_gradient(padding.restore(input->gradient), golden_.tensor(name), name);
  }

  Golden golden_{"tf-layer", GetParam()};
  ThreadPool pool_{2};
  Arena arena_;
  Tape tape_{pool_, arena_};
  std::vector<Tensor> kept_;
};

class EncoderLayer : public TorchLayer {};
TEST_P(EncoderLayer, OutputAndGradients) {
  const nn::Block block("", "encoder.0", torch_config(golden_.about(), false));
  std::vector<Parameter*> parameters;
  const_cast<nn::Block&>(block).collect(parameters);
  load(golden_, parameters);
  const Padding source = padding_of(golden_, "in.src", "in.src_key_padding_mask");
  const Ragged shape = source.shape();
  tape_.begin({.record = true});
  Var x = input(source, "in.src");
  nn::AttentionInput attention;
  attention.shape = &shape;
  WeightsProbe probe(golden_, "encoder.0.self.weights");
  tape_.probe = &probe;
  Var out = block.forward(tape_, x, attention, attention);
  EXPECT_EQ(probe.seen, 2);
  expect_output_at_tokens(out, source, "out.output");
  backward(out, source);
  expect_gradient_everywhere(x, source, "grad.in.src");
  compare_gradients(golden_, parameters);
}
INSTANTIATE_TEST_SUITE_P(Torch, EncoderLayer,
                         ::testing::Values("encoder-layer-post-relu", "encoder-layer-post-gelu",
                                           "encoder-layer-pre-relu", "encoder-layer-pre-gelu"));

class DecoderLayer : public TorchLayer {};
TEST_P(DecoderLayer, OutputAndGradients) {
  nn::Block block("", "decoder.0", torch_config(golden_.about(), true));
  std::vector<Parameter*> parameters;
  block.collect(parameters);
  load(golden_, parameters);
  const Padding target = padding_of(golden_, "in.tgt", "in.tgt_key_padding_mask");
  const Padding source = padding_of(golden_, "in.memory", "in.memory_key_padding_mask");
  const Ragged shape = target.shape();
  tape_.begin({.record = true});
  Var x = input(target, "in.tgt");
  const Memory memory{input(source, "in.memory"), source.shape()};
  nn::AttentionInput self, cross;
  self.shape = cross.shape = &shape;
  cross.memory = &memory;
  WeightsProbe probe(golden_, "decoder.0.self.weights");
  tape_.probe = &probe;
  Var out = block.forward(tape_, x, self, cross);
  EXPECT_EQ(probe.seen, 2);
  expect_output_at_tokens(out, target, "out.output");
  backward(out, target);
  expect_gradient_everywhere(x, target, "grad.in.tgt");
  expect_gradient_everywhere(memory.hidden, source, "grad.in.memory");
  compare_gradients(golden_, parameters);
}
INSTANTIATE_TEST_SUITE_P(Torch, DecoderLayer,
                         ::testing::Values("decoder-layer-post-relu", "decoder-layer-post-gelu",
                                           "decoder-layer-pre-relu", "decoder-layer-pre-gelu"));

// nn.Transformer: on each side, layers followed by a norm.
class WholeTransformer : public TorchLayer {
 protected:
  struct Side {
    std::vector<std::unique_ptr<nn::Block>> blocks;
    std::unique_ptr<nn::Norm> norm;
  };
  Side make_side(const std::string& name, bool decoder, std::vector<Parameter*>& parameters) {
    Side side;
    const nn::BlockConfig config = torch_config(golden_.about(), decoder);
    for (int layer = 0; golden_.has("param." + name + ".layers." + std::to_string(layer) + ".linear1.weight");
         ++layer) {
      const std::string number = std::to_string(layer);
      side.blocks.push_back(
          std::make_unique<nn::Block>(name + ".layers." + number + ".", name + "." + number, config));
      side.blocks.back()->collect(parameters);
    }
    side.norm = std::make_unique<nn::Norm>(name + ".norm", config.feed_forward.hidden, nn::NormConfig{});
    side.norm->collect(parameters);
    return side;
  }
};
TEST_P(WholeTransformer, OutputAndGradients) {
  std::vector<Parameter*> parameters;
  const Side encoder = make_side("encoder", false, parameters);
  const Side decoder = make_side("decoder", true, parameters);
  ASSERT_FALSE(encoder.blocks.empty());
  load(golden_, parameters);
  const Padding source = padding_of(golden_, "in.src", "in.src_key_padding_mask");
  const Padding target = padding_of(golden_, "in.tgt", "in.tgt_key_padding_mask");
  const Ragged source_shape = source.shape(), target_shape = target.shape();
  tape_.begin({.record = true});
  Var x = input(source, "in.src"), y = input(target, "in.tgt");
  nn::AttentionInput self, cross;
  self.shape = &source_shape;
  Var hidden = x;
  for (const auto& block : encoder.blocks) hidden = block->forward(tape_, hidden, self, cross);
  const Memory memory{encoder.norm->forward(tape_, hidden), source_shape};
  expect_output_at_tokens(memory.hidden, source, "out.memory");
  self.shape = cross.shape = &target_shape;
  cross.memory = &memory;
  hidden = y;
  for (const auto& block : decoder.blocks) hidden = block->forward(tape_, hidden, self, cross);
  Var out = decoder.norm->forward(tape_, hidden);
  expect_output_at_tokens(out, target, "out.output");
  backward(out, target);
  expect_gradient_everywhere(x, source, "grad.in.src");
  expect_gradient_everywhere(y, target, "grad.in.tgt");
  compare_gradients(golden_, parameters);
}
INSTANTIATE_TEST_SUITE_P(Torch, WholeTransformer,
                         ::testing::Values("transformer-post-relu", "transformer-post-gelu",
                                           "transformer-pre-relu", "transformer-pre-gelu"));

}  // namespace
}  // namespace regard::testing
