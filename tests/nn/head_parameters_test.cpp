// What an attention layer shows to a probe: the parameters of each head, for every layout of the weights, and
// the question whether the heads' output is known already.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "nn/multi_head_attention.h"
#include "ops/attention_parameters.h"
#include "ops/replacing_probe.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kHidden = 6, kMemoryHidden = 5, kTokens = 3;

// Four heads that share two key/value heads.
nn::AttentionConfig grouped(bool cross, bool joint, bool transposed) {
  nn::AttentionConfig config;
  config.hidden = kHidden, config.heads = 4, config.kv_heads = 2, config.head_dim = 3;
  config.cross = cross, config.joint = joint, config.transposed = transposed;
  if (cross) config.memory_hidden = kMemoryHidden;
  config.causal = !cross, config.window = cross ? 0 : 7, config.scale = 0.25f;
  return config;
}

// A layer whose weights have different numbers.
struct Layer {
  explicit Layer(const nn::AttentionConfig& config) : attention("layer.", "point", config) {
    attention.collect(parameters);
    float next = 0.0f;
    for (Parameter* parameter : parameters) {
      parameter->allocate();
      const Tensor& value = parameter->value();
      for (std::int64_t i = 0; i < value.elements(); ++i) value.f32()[i] = 0.001f * ++next;
    }
  }
  const Tensor& value(const std::string& name) const {
    return (*std::find_if(parameters.begin(), parameters.end(),
                          [&](const Parameter* one) { return one->name == "layer." + name; }))
        ->value();
  }
  nn::MultiHeadAttention attention;
  std::vector<Parameter*> parameters;
};

// Receives parameters, and provides the heads' output if `context` is defined.
struct LayerProbe : ReplacingProbe, ops::ParametersProbe {
  bool wants(std::string_view point) override {
    wanted.emplace_back(point);
    return false;
  }
  void see(std::string_view, std::int64_t, const Tensor&) override {}
  bool wants_parameters(std::string_view point) override { return point == "point"; }
  void see_parameters(std::string_view,
                      const std::shared_ptr<const ops::AttentionParameters>& parameters) override {
    seen = parameters;
  }
  Var replace(Tape& tape, std::string_view point, Var value) override {
    if (point != "point.context.skip") return value;
    ++questions;
    return context.defined() ? tape.constant(context) : nullptr;
  }
  bool asked(const std::string& point) const {
    return std::find(wanted.begin(), wanted.end(), point) != wanted.end();
  }
  std::shared_ptr<const ops::AttentionParameters> seen;
  std::vector<std::string> wanted;
  Tensor context;
  int questions = 0;
};

class LayerPass {
 public:
  LayerPass() {
    tokens_.add(kTokens, 0);
    tape_.begin({});
    tape_.probe = &probe;
  }
  // Return the layer's output for three tokens. `memory` is used by cross-attention.
  Tensor run(const Layer& layer, bool cross, Cache* cache = nullptr) {
    const Tensor x = numbers({kTokens, kHidden}), of_memory = numbers({kTokens, kMemoryHidden});
    const Ragged shape = tokens_.view();
    const Memory memory{tape_.constant(of_memory), shape};
    nn::AttentionInput input;
    input.shape = &shape, input.cache = cache;
    if (cross) input.memory = &memory;
    nn::BranchEnd end;
    end.shape = &shape;
    return layer.attention.forward(tape_, tape_.constant(x), input, end)->value;
  }
  static Tensor numbers(Shape shape) {
    Tensor tensor = Tensor::empty(shape);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      tensor.f32()[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
    return tensor;
  }
  ThreadPool& pool() { return pool_; }
  LayerProbe probe;

 private:
  ThreadPool pool_{1};
  Arena arena_;
  Tape tape_{pool_, arena_};
  RaggedBuffer tokens_;
};

// The place of a projection: it is stored in the output features [first, first + count) of the layer `name`.
struct Place {
  std::string name;
  std::int64_t first, count;
};

void expect_projection(const Layer& layer, const ops::Projection& found, const Place& place,
                       bool transposed) {
  const Tensor &weight = layer.value(place.name + ".weight"), &bias = layer.value(place.name + ".bias");
  ASSERT_EQ(found.weight.columns(), place.count) << place.name;
  ASSERT_EQ(found.bias.elements(), place.count) << place.name;
  for (std::int64_t o = 0; o < place.count; ++o) {
    EXPECT_EQ(found.bias.f32()[o], bias.f32()[place.first + o]) << place.name;
    for (std::int64_t i = 0; i < found.weight.rows(); ++i)
      ASSERT_EQ(found.weight.row(i)[o],
                transposed ? weight.row(i)[place.first + o] : weight.row(place.first + o)[i])
          << place.name << ", input " << i << ", output " << o;
  }
}

TEST(HeadParameters, AreTheStoredWeightsInEveryLayout) {
  for (const bool cross : {false, true})
    for (const bool joint : {false, true})
      for (const bool transposed : {false, true}) {
        if (transposed && !joint) continue;  // GPT-2 stores joint weights
        const Layer layer(grouped(cross, joint, transposed));
        LayerPass pass;
        pass.run(layer, cross);
        ASSERT_NE(pass.probe.seen, nullptr);
        const ops::AttentionParameters& parameters = *pass.probe.seen;
        EXPECT_EQ(parameters.scale(), 0.25f);
        EXPECT_EQ(parameters.causal(), !cross);
        EXPECT_EQ(parameters.window(), cross ? 0 : 7);
        EXPECT_EQ(parameters.weights_of_head(), (kHidden + (cross ? kMemoryHidden : kHidden)) * (3 + 3));
        for (std::int64_t head = 0; head < 4; ++head) {
          const ops::HeadParameters found = parameters.of_head(pass.pool(), head);
          const std::int64_t shared = head / 2 * 3, start = cross || !joint ? 0 : 12;
          expect_projection(layer, found.query, {"query", head * 3, 3}, transposed);
          const std::string key = !joint ? "key" : cross ? "key" : "query", value = joint ? key : "value";
          expect_projection(layer, found.key, {key, start + shared, 3}, transposed && joint);
          expect_projection(layer, found.value, {value, start + (joint ? 6 : 0) + shared, 3},
                            transposed && joint);
          EXPECT_EQ(found.key.weight.rows(), cross ? kMemoryHidden : kHidden);
          const Tensor& output = layer.value("output.weight");
          ASSERT_EQ(found.output.weight.shape(), (Shape{3, kHidden}));
          for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t o = 0; o < kHidden; ++o)
              EXPECT_EQ(found.output.weight.row(i)[o],
                        transposed ? output.row(head * 3 + i)[o] : output.row(o)[head * 3 + i]);
          EXPECT_EQ(found.output.bias.elements(), kHidden);
        }
      }
}

// If the probe has the heads' output, neither query nor weights are computed.
TEST(MultiHeadAttention, UsesAKnownOutputOfTheHeads) {
  const Layer layer(grouped(false, false, false));
  LayerPass plain, known;
  const Tensor usual = plain.run(layer, false).clone();
  EXPECT_EQ(plain.probe.questions, 1);
  EXPECT_TRUE(plain.probe.asked("point.weights"));
  known.probe.context = Tensor::zeros({kTokens, 12});
  const Tensor of_zeros = known.run(layer, false);
  EXPECT_EQ(known.probe.questions, 1);
  EXPECT_FALSE(known.probe.asked("point.weights"));
  const Tensor& bias = layer.value("output.bias");
  for (std::int64_t row = 0; row < kTokens; ++row)
    for (std::int64_t i = 0; i < kHidden; ++i) {
      EXPECT_EQ(of_zeros.row(row)[i], bias.f32()[i]);
      EXPECT_NE(usual.row(row)[i], bias.f32()[i]);
    }
}

// With a cache, the probe is not asked: the cache would lack the layer's keys and values.
TEST(MultiHeadAttention, AsksForNoKnownOutputIfThereIsACache) {
  const Layer layer(grouped(false, false, false));
  LayerPass without, with;
  const Tensor usual = without.run(layer, false).clone();
  CacheShape shape;
  shape.layers = 1, shape.key_width = shape.value_width = 6, shape.kv_heads = 2;
  Cache cache(shape, 1, 8);
  cache.make_room(0, kTokens);
  with.probe.context = Tensor::zeros({kTokens, 12});
  const Tensor cached = with.run(layer, false, &cache);
  EXPECT_EQ(with.probe.questions, 0);
  for (std::int64_t i = 0; i < kTokens * kHidden; ++i) EXPECT_EQ(cached.f32()[i], usual.f32()[i]);
}

// The rows of a cache are divided by head, so its number of heads must be that of the layer.
TEST(MultiHeadAttention, RefusesACacheWithOtherHeads) {
  const Layer layer(grouped(false, false, false));
  LayerPass pass;
  CacheShape shape;
  shape.layers = 1, shape.key_width = shape.value_width = 6, shape.kv_heads = 3;
  Cache cache(shape, 1, 8);
  cache.make_room(0, kTokens);
  EXPECT_REGARD_ERROR(pass.run(layer, false, &cache), ErrorKind::usage,
                      "the cache and an attention layer differ in the number of key/value heads (expected 2, "
                      "as in the layer, found 3 in the cache)");
}

TEST(MultiHeadAttention, CrossAttentionNeedsAMemory) {
  const Layer layer(grouped(true, false, false));
  LayerPass pass;
  EXPECT_REGARD_ERROR(pass.run(layer, false), ErrorKind::usage,
                      "point: cross-attention requires the encoder's output, which is missing. Encode the "
                      "source first");
}

}  // namespace
}  // namespace regard::testing
