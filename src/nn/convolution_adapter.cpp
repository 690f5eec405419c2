#include "nn/convolution_adapter.h"

#include <algorithm>
#include <numeric>

#include "nn/collect.h"
#include "ops/gated_linear_unit.h"

namespace regard::nn {

ConvolutionAdapter::ConvolutionAdapter(std::int64_t in, const ConvolutionAdapterConfig& config) {
  if (!config.projection.empty()) {
    const LinearPart part{config.projection, config.out, true, {Initialisation::Kind::normal, 0.02}};
    projection_ = std::make_unique<Linear>(in, std::vector{part});
    norm_ = std::make_unique<Norm>(config.norm, config.out, NormConfig{});
  }
  for (std::int64_t i = 0; i < config.layers; ++i) {
    ConvolutionConfig layer;
    layer.name = config.prefix + std::to_string(i) + ".conv";
    layer.out = 2 * config.out, layer.window = config.window;
    layer.activation = kernels::Activation::none;
    layers_.push_back(std::make_unique<Convolution>(config.out, layer));
  }
}

Var ConvolutionAdapter::forward(Tape& tape, Var x, const Ragged& shape) const {
  if (projection_) x = norm_->forward(tape, projection_->forward(tape, x));
  std::span<const std::int32_t> offsets = shape.offsets;
  for (const auto& layer : layers_) x = ops::gated_linear_unit(tape, layer->forward(tape, x, offsets));
  return x;
}

Ragged ConvolutionAdapter::output_shape(Tape& tape, const Ragged& shape) const {
  std::span<const std::int32_t> offsets = shape.offsets;
  for (const auto& layer : layers_) offsets = ops::convolved_offsets(tape, offsets, layer->window());
  const auto frames = static_cast<std::size_t>(offsets.back());
  const std::span<std::int32_t> positions = tape.arena().array<std::int32_t>(frames);
  const std::span<std::uint64_t> indices = tape.arena().array<std::uint64_t>(frames);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto first = offsets[s], end = offsets[s + 1];
    if (first == end) continue;
    std::iota(positions.begin() + first, positions.begin() + end, 0);
    std::fill(indices.begin() + first, indices.begin() + end,
              shape.sequence_index[static_cast<std::size_t>(shape.offsets[s])]);
  }
  return {offsets, positions, indices};
}

void ConvolutionAdapter::collect(std::vector<Parameter*>& parameters) const {
  collect_parts(parameters, projection_, norm_);
  for (const auto& layer : layers_) layer->collect(parameters);
}

void ConvolutionAdapter::prepare_for_inference(const Preparation& how) const {
  if (projection_) projection_->prepare_for_inference(how);
}

}  // namespace regard::nn
