// Layers whose tape stores bf16: values and gradients are close to f32, and activations need less memory. The
// bits are the same for any number of threads, with gradient checkpointing, and with the emulated
// instructions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "base/random.h"
#include "kernels/bf16.h"
#include "nn/block.h"
#include "ops/checkpoint.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using kernels::Bf16Path;
using kernels::Precision;

struct BlockPass {
  std::vector<float> out, input_gradient, weight_gradients;
  std::size_t bytes = 0;  // memory of the activations
};

struct PassOptions {
  Precision precision = Precision::bf16;
  int threads = 1;
  bool checkpoint = false;
};

nn::BlockConfig small_block() {
  nn::BlockConfig block;
  block.self.hidden = 48, block.self.heads = 3, block.self.causal = true;
  block.self_norm.before = "norm1", block.feed_forward_norm.before = "norm2";
  block.feed_forward.hidden = 48, block.feed_forward.inner = 128;
  block.feed_forward.activation = kernels::Activation::gelu;
  return block;
}

Tensor normal(Shape shape, const std::string& name, double deviation) {
  Tensor tensor = Tensor::empty(shape);
  RandomStream stream({7, 0, place_of(name)});
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    tensor.f32()[i] = static_cast<float>(deviation * stream.next_normal());
  return tensor;
}

void append(std::vector<float>& to, const Tensor& values) {
  to.insert(to.end(), values.f32(), values.f32() + values.elements());
}

// Run two layers forward and backward over sequences of these lengths. With has_cross, the cross-attention
// reads the input.
BlockPass pass_of(const nn::BlockConfig& config, const std::vector<std::int64_t>& lengths,
                  const PassOptions& options) {
  ThreadPool pool(options.threads);
  Arena arena;
  Tape tape(pool, arena);
  std::vector<std::unique_ptr<nn::Block>> blocks;
  std::vector<Parameter*> parameters;
  for (const char* name : {"layers.0.", "layers.1."}) {
    blocks.push_back(std::make_unique<nn::Block>(name, name, config));
    blocks.back()->collect(parameters);
  }
  for (Parameter* parameter : parameters) {
    parameter->allocate();
    const Shape shape = parameter->value().shape();
    const Tensor start = normal(shape, parameter->name, shape.rank() == 1 ? 0.3 : 0.15);
    std::memcpy(parameter->value().data(), start.data(), start.bytes());
    parameter->set_trainable(true);
  }
  RaggedBuffer shape;
  for (std::size_t i = 0; i < lengths.size(); ++i) shape.add(lengths[i], i);
  const Ragged view = shape.view();
  const Tensor input = normal({view.tokens(), config.self.hidden}, "input", 1.0);
  tape.begin({.record = true,
              .training = true,
              .seed = 3,
              .checkpoint = options.checkpoint,
              .precision = options.precision});
  const Var first = tape.input(input, true);
  Memory memory;
  memory.hidden = first, memory.shape = view;
  nn::AttentionInput self, cross;
  self.shape = cross.shape = &view;
  cross.memory = &memory;
  Var x = first;
  for (const auto& block : blocks)
    x = ops::checkpointed(tape, [block = block.get(), x, &self, &cross](Tape& on) {
      return block->forward(on, x, self, cross);
    });
  BlockPass result;
  append(result.out, x->value);
  tape.backward(x);
  append(result.input_gradient, first->gradient);
  for (const Parameter* parameter : parameters) append(result.weight_gradients, parameter->gradient());
  result.bytes = arena.touched() + tape.segment_bytes();
  return result;
}

double relative_error(const std::vector<float>& x, const std::vector<float>& y) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
    size += std::pow(static_cast<double>(y[i]), 2);
  }
  return std::sqrt(difference / size);
}

bool same_bits(const BlockPass& a, const BlockPass& b) {
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return same(a.out, b.out) && same(a.input_gradient, b.input_gradient) &&
         same(a.weight_gradients, b.weight_gradients);
}

// Return a configuration for every path through a layer: gates, dropout at each place, norms of heads,
// windows, cross-attention, post-norm.
std::vector<std::pair<std::string, nn::BlockConfig>> all_blocks() {
  std::vector<std::pair<std::string, nn::BlockConfig>> all;
  const auto add = [&](const std::string& name, auto&& change) {
    nn::BlockConfig config = small_block();
    change(config);
    all.emplace_back(name, config);
  };
  add("gelu", [](auto&) {});
  add("relu", [](auto& c) { c.feed_forward.activation = kernels::Activation::relu; });
  add("gated", [](auto& c) {
    c.feed_forward.gated = true, c.feed_forward.activation = kernels::Activation::silu;
    c.norm.rms = true;
  });
  add("dropout", [](auto& c) { c.dropout = 0.2f, c.self.dropout = 0.1f, c.feed_forward.dropout = 0.1f; });
  add("relu with dropout",
      [](auto& c) { c.feed_forward.activation = kernels::Activation::relu, c.feed_forward.dropout = 0.3f; });
  add("head norms", [](auto& c) { c.self.query_norm = "query_norm", c.self.key_norm = "key_norm"; });
  add("window", [](auto& c) { c.self.window = 4, c.self.kv_heads = 1; });
  add("transposed", [](auto& c) { c.feed_forward.transposed = true; });
  add("post-norm and cross-attention", [](auto& c) {
    c.has_cross = true, c.cross = c.self;
    c.cross.causal = false, c.cross.cross = true;
    c.cross.query = "q", c.cross.key = "k", c.cross.value = "v", c.cross.output = "o";
    c.self_norm = {"", "", "norm1"}, c.cross_norm = {"", "", "norm3"},
    c.feed_forward_norm = {"", "", "norm2"};
  });
  return all;
}

class Bf16Block : public ::testing::Test {
 protected:
  void TearDown() override { kernels::reset_bf16_path(); }
  static std::vector<Bf16Path> paths() {
    std::vector<Bf16Path> all = kernels::bf16_paths();
    all.push_back(Bf16Path::emulated);
    return all;
  }
  const std::vector<std::int64_t> lengths_{19, 1, 40};
};

TEST_F(Bf16Block, IsNearF32) {
  for (const auto& [name, config] : all_blocks()) {
    const BlockPass exact = pass_of(config, lengths_, {.precision = Precision::f32});
    for (const Bf16Path path : paths()) {
      kernels::set_bf16_path(path);
      const BlockPass rounded = pass_of(config, lengths_, {});
      EXPECT_LT(relative_error(rounded.out, exact.out), 0.01) << name << " " << name_of(path);
      EXPECT_LT(relative_error(rounded.input_gradient, exact.input_gradient), 0.03) << name;
      EXPECT_LT(relative_error(rounded.weight_gradients, exact.weight_gradients), 0.03) << name;
      EXPECT_GT(relative_error(rounded.out, exact.out), 1e-5) << name << ", control";
    }
  }
}

TEST_F(Bf16Block, SameBitsForAnyThreadsAndWithCheckpointing) {
  for (const auto& [name, config] : all_blocks())
    for (const Bf16Path path : paths()) {
      kernels::set_bf16_path(path);
      const BlockPass one = pass_of(config, lengths_, {});
      EXPECT_TRUE(same_bits(one, pass_of(config, lengths_, {.threads = 3}))) << name;
      EXPECT_TRUE(same_bits(one, pass_of(config, lengths_, {.threads = 2, .checkpoint = true}))) << name;
    }
}

TEST_F(Bf16Block, EmulationHasTheBitsOfAmx) {
  if (kernels::bf16_paths().empty() || kernels::bf16_paths().back() != Bf16Path::amx_bf16)
    GTEST_SKIP() << "no AMX-BF16";
  for (const auto& [name, config] : all_blocks()) {
    kernels::set_bf16_path(Bf16Path::amx_bf16);
    const BlockPass amx = pass_of(config, lengths_, {});
    kernels::set_bf16_path(Bf16Path::emulated);
    EXPECT_TRUE(same_bits(amx, pass_of(config, lengths_, {}))) << name;
  }
}

// A sequence has the same bits alone and in a batch.
TEST_F(Bf16Block, SameBitsInAnyBatch) {
  for (const Bf16Path path : paths()) {
    kernels::set_bf16_path(path);
    const BlockPass alone = pass_of(small_block(), {40}, {}), both = pass_of(small_block(), {40, 12}, {});
    EXPECT_TRUE(std::equal(alone.out.begin(), alone.out.end(), both.out.begin()));
    EXPECT_TRUE(
        std::equal(alone.input_gradient.begin(), alone.input_gradient.end(), both.input_gradient.begin()));
  }
}

TEST_F(Bf16Block, KeepsLessForTheBackwardPass) {
  if (!kernels::default_bf16_path()) kernels::set_bf16_path(Bf16Path::emulated);
  const std::vector<std::int64_t> lengths(24, 40);
  nn::BlockConfig config = small_block();
  config.feed_forward.inner = 4 * config.self.hidden;
  const BlockPass exact = pass_of(config, lengths, {.precision = Precision::f32});
  const BlockPass rounded = pass_of(config, lengths, {});
  EXPECT_LT(static_cast<double>(rounded.bytes), 0.75 * static_cast<double>(exact.bytes));
}

}  // namespace
}  // namespace regard::testing
