#include "nn/head_parameters.h"

#include <algorithm>

#include "ops/attention_parameters.h"
#include "ops/tape.h"
#include "tensor/arena.h"

namespace regard::nn {
namespace {

// Return the weight [in, count] of the layer's output features [first, first + count), computed by applying
// the layer to the identity matrix. This works for every number format and packing of the weight, and
// includes low-rank updates.
Tensor product_with_identity(Tape& tape, const Linear& layer, std::int64_t first, std::int64_t count) {
  const std::int64_t in = layer.in();
  Tensor identity = Tensor::zeros({in, in});
  for (std::int64_t i = 0; i < in; ++i) identity.row(i)[i] = 1.0f;
  Tensor weight =
      layer.forward(tape, tape.constant(identity))->value.slice_columns(first, first + count).clone();
  if (Var bias = layer.variables(tape).bias; bias != nullptr)
    for (std::int64_t i = 0; i < in; ++i)
      for (std::int64_t o = 0; o < count; ++o) weight.row(i)[o] -= bias->value.f32()[first + o];
  return weight;
}

// Return the weight and bias of the layer's output features [first, first + count).
Projection features(ThreadPool& pool, const Linear& layer, std::int64_t first, std::int64_t count) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const Linear::Variables all = layer.variables(tape);
  Projection found;
  if (all.bias != nullptr) {
    found.bias = Tensor::empty({count});
    std::copy_n(all.bias->value.f32() + first, count, found.bias.f32());
  }
  const Tensor& stored = all.weight->value;
  // Copying the weight would omit low-rank updates; reads_bf16() is false for a layer with updates.
  const bool plain = stored.defined() && layer.reads_bf16();
  if (!plain) {
    found.weight = product_with_identity(tape, layer, first, count);
    return found;
  }
  found.weight = Tensor::empty({layer.in(), count});
  for (std::int64_t i = 0; i < layer.in(); ++i)
    for (std::int64_t o = 0; o < count; ++o)
      found.weight.row(i)[o] = all.transposed ? stored.row(i)[first + o] : stored.row(first + o)[i];
  return found;
}

class LayerParameters : public AttentionParameters {
 public:
  LayerParameters(const AttentionConfig& config, const AttentionLayers& layers)
      : config_(config), layers_(layers) {}

  float scale() const override { return config_.scale; }
  bool causal() const override { return config_.causal; }
  std::int64_t window() const override { return config_.window; }

  std::int64_t weights_of_head() const override {
    const std::int64_t keys = config_.cross ? config_.memory_hidden : config_.hidden;
    return (config_.hidden + keys) * (config_.head_dim + config_.value_dim);
  }

  HeadParameters of_head(ThreadPool& pool, std::int64_t head) const override {
    const AttentionConfig& c = config_;
    const std::int64_t shared = head / (c.heads / c.kv_heads);  // index of the key/value head
    const std::int64_t keys = c.cross ? 0 : c.heads * c.head_dim;
    const std::int64_t values = keys + c.kv_heads * c.head_dim;
    const Linear& key_value = c.cross ? *layers_.key_value : *layers_.query;
    HeadParameters found{features(pool, *layers_.query, head * c.head_dim, c.head_dim),
                         features(pool, key_value, keys + shared * c.head_dim, c.head_dim),
                         features(pool, key_value, values + shared * c.value_dim, c.value_dim),
                         features(pool, *layers_.output, 0, c.hidden)};
    found.output.weight =
        found.output.weight.slice_rows(head * c.value_dim, (head + 1) * c.value_dim).clone();
    return found;
  }

 private:
  AttentionConfig config_;
  AttentionLayers layers_;
};

}  // namespace

void show_parameters(Tape& tape, std::string_view point, const AttentionConfig& config,
                     const AttentionLayers& layers) {
  if (tape.probe == nullptr) return;
  auto* probe = dynamic_cast<ParametersProbe*>(tape.probe);
  if (probe != nullptr && probe->wants_parameters(point))
    probe->see_parameters(point, std::make_shared<LayerParameters>(config, layers));
}

}  // namespace regard::nn
