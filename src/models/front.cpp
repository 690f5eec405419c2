// The first layers of models that read audio: convolutions over features or samples.
#include <cstring>
#include <utility>

#include "models/stack.h"
#include "nn/collect.h"
#include "nn/convolution.h"
#include "nn/linear.h"
#include "ops/add.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/tape.h"

namespace regard::models {
namespace {

class Front : public InputEmbedding {
 public:
  Front(const InputEmbeddingConfig& config, std::int64_t hidden)
      : config_(*config.front),
        dropout_{config_.projection_dropout, place_of(config_.projection + ".dropout")} {
    std::int64_t features = config_.bins;
    for (const nn::ConvolutionConfig& layer : config_.layers) {
      layers_.push_back(std::make_unique<nn::Convolution>(features, layer));
      features = layer.out;
    }
    if (!config_.projection_norm.empty())
      projection_norm_ = std::make_unique<nn::Norm>(config_.projection_norm, features, config_.norm_config);
    if (!config_.projection.empty())
      projection_ = std::make_unique<nn::Linear>(
          features, std::vector{nn::LinearPart{config_.projection, hidden, true, config.initial}});
    if (!config_.positions.empty()) {
      std::int64_t positions = config_.frames;
      for (const nn::ConvolutionConfig& layer : config_.layers)
        positions = layer.window.output_frames(positions);
      positions_ = std::make_unique<nn::Embedding>(config_.positions, positions, hidden, config.initial);
      positions_->weight().use = Parameter::Use::other;
    }
    if (config_.position_layer)
      position_layer_ = std::make_unique<nn::Convolution>(hidden, *config_.position_layer);
    if (!config_.norm.empty()) norm_ = std::make_unique<nn::Norm>(config_.norm, hidden, config_.norm_config);
  }

  InputSpec input_spec() const override {
    InputSpec spec{.kind = InputKind::features,
                   .shape = {config_.frames, config_.bins},
                   .name = config_.input_name,
                   .bins_first = config_.bins_first};
    for (const nn::ConvolutionConfig& layer : config_.layers) {
      spec.windows.push_back(layer.window);
      if (layer.norm == nn::ConvolutionConfig::Norm::group) spec.normalizes_over_frames = true;
    }
    return spec;
  }

  Var forward(Tape& tape, const InputBatch& batch) const override {
    std::span<const std::int32_t> offsets;
    Var x = tape.constant(joined(tape, batch.values, offsets));
    for (const auto& layer : layers_) x = layer->forward(tape, x, offsets);
    if (projection_norm_) x = projection_norm_->forward(tape, x);
    if (projection_) x = ops::dropout(tape, projection_->forward(tape, x), batch.shape, dropout_);
    if (positions_) x = ops::add(tape, x, positions_->forward(tape, batch.shape.positions));
    if (position_layer_) x = ops::add(tape, x, position_layer_->forward(tape, x, offsets));
    return norm_ ? norm_->forward(tape, x) : x;
  }

  void collect(std::vector<Parameter*>& parameters) const override {
    for (const auto& layer : layers_) layer->collect(parameters);
    nn::collect_parts(parameters, projection_norm_, projection_, positions_, position_layer_, norm_);
  }

  void prepare_for_inference(const nn::Preparation& how) const override {
    if (projection_) projection_->prepare_for_inference(how);
  }

 private:
  // Return the concatenated inputs [frames, bins]. Set `offsets` to the index of each input's first frame.
  Tensor joined(Tape& tape, std::span<const Tensor> inputs, std::span<const std::int32_t>& offsets) const {
    const std::span<std::int32_t> first = tape.arena().array<std::int32_t>(inputs.size() + 1);
    first[0] = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      first[i + 1] = first[i] + static_cast<std::int32_t>(inputs[i].rows());
    offsets = first;
    if (inputs.size() == 1) return inputs[0];
    const Tensor all = tape.arena().tensor({first.back(), config_.bins});
    for (std::size_t i = 0; i < inputs.size(); ++i)
      std::memcpy(all.row(first[i]), inputs[i].f32(), inputs[i].bytes());
    return all;
  }

  FrontConfig config_;
  ops::DropoutOptions dropout_;
  std::vector<std::unique_ptr<nn::Convolution>> layers_;
  std::unique_ptr<nn::Norm> projection_norm_, norm_;
  std::unique_ptr<nn::Linear> projection_;
  std::unique_ptr<nn::Embedding> positions_;
  std::unique_ptr<nn::Convolution> position_layer_;
};

}  // namespace

std::unique_ptr<InputEmbedding> make_front(const InputEmbeddingConfig& config, std::int64_t hidden) {
  return std::make_unique<Front>(config, hidden);
}

}  // namespace regard::models
