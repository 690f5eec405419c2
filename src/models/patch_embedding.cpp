#include <cstring>
#include <utility>

#include "models/stack.h"
#include "ops/add.h"
#include "ops/embedding.h"
#include "ops/join_rows.h"
#include "ops/parameter.h"
#include "ops/tape.h"

namespace regard::models {
namespace {

std::unique_ptr<Parameter> row_weight(const std::string& name, Shape shape, Shape stored,
                                      Initialisation initial) {
  auto weight = std::make_unique<Parameter>();
  weight->name = name;
  weight->variable.value = declared(shape);
  weight->stored_shape = stored;
  weight->initial = initial;
  return weight;
}

// The projection is a convolution without padding, computed as a linear layer over the pixels of each patch.
class PatchEmbedding : public InputEmbedding {
 public:
  PatchEmbedding(const InputEmbeddingConfig& config, std::int64_t hidden) : config_(*config.patches) {
    pixels_ = config_.channels * config_.patch_height * config_.patch_width;
    projection_ = std::make_unique<nn::Linear>(
        pixels_, std::vector{nn::LinearPart{config_.projection, hidden, config_.bias, config.initial}});
    std::vector<Parameter*> weights;
    projection_->collect(weights);
    weights[0]->stored_shape = {hidden, config_.channels, config_.patch_height, config_.patch_width};
    const bool flat = config_.flat;
    for (const std::string& name : config_.specials)
      specials_.push_back(
          row_weight(name, {1, hidden}, flat ? Shape{hidden} : Shape{1, 1, hidden}, config.initial));
    const Shape table{config_.tokens(), hidden};
    positions_ = row_weight(config_.positions, table, flat ? table : Shape{1, config_.tokens(), hidden},
                            config.initial);
    if (!config.norm.empty()) norm_ = std::make_unique<nn::Norm>(config.norm, hidden, config.norm_config);
  }

  InputSpec input_spec() const override {
    if (config_.spectrogram)
      return {.kind = InputKind::features,
              .shape = {config_.width, config_.height},
              .name = "input_values",
              .specials = std::ssize(config_.specials),
              .patch_rows = config_.rows(),
              .patch_columns = config_.columns()};
    return {.kind = InputKind::pixels,
            .shape = {1, config_.channels, config_.height, config_.width},
            .specials = std::ssize(config_.specials),
            .patch_rows = config_.rows(),
            .patch_columns = config_.columns()};
  }

  Var forward(Tape& tape, const InputBatch& batch) const override {
    const std::int64_t images = std::ssize(batch.values), patches = config_.rows() * config_.columns();
    Var x = projection_->forward(tape, tape.constant(patches_of(tape, batch.values)));
    // Prepend the special tokens to each image's patches; the last special token is prepended first.
    for (std::size_t s = specials_.size(); s-- > 0;) {
      const auto before = static_cast<std::int64_t>(specials_.size() - s - 1) + patches;
      const std::span<std::int32_t> rows =
          tape.arena().array<std::int32_t>(static_cast<std::size_t>(images * (before + 1)));
      for (std::int64_t i = 0, r = 0; i < images; ++i) {
        rows[static_cast<std::size_t>(r++)] = static_cast<std::int32_t>(images * before);
        for (std::int64_t t = 0; t < before; ++t)
          rows[static_cast<std::size_t>(r++)] = static_cast<std::int32_t>(i * before + t);
      }
      x = ops::join_rows(tape, x, &specials_[s]->variable, rows);
    }
    x = ops::add(tape, x, ops::embedding(tape, &positions_->variable, batch.shape.positions));
    return norm_ ? norm_->forward(tape, x) : x;
  }

  void collect(std::vector<Parameter*>& parameters) const override {
    for (const auto& special : specials_) parameters.push_back(special.get());
    parameters.push_back(positions_.get());
    projection_->collect(parameters);
    if (norm_) norm_->collect(parameters);
  }

  void prepare_for_inference(const nn::Preparation& how) const override {
    projection_->prepare_for_inference(how);
  }

 private:
  // Convert images [1, channels, height, width], or spectrograms [width, height], to patches [images ·
  // patches, channels · patch height · patch width].
  Tensor patches_of(Tape& tape, std::span<const Tensor> images) const {
    const PatchConfig& c = config_;
    const Tensor all = tape.arena().tensor({std::ssize(images) * c.rows() * c.columns(), pixels_});
    const std::int64_t row_stride = c.row_stride > 0 ? c.row_stride : c.patch_height;
    const std::int64_t column_stride = c.column_stride > 0 ? c.column_stride : c.patch_width;
    float* to = all.f32();
    for (const Tensor& image : images)
      for (std::int64_t row = 0; row < c.rows(); ++row)
        for (std::int64_t column = 0; column < c.columns(); ++column, to += pixels_)
          copy_patch(image.f32(), row * row_stride, column * column_stride, to);
    return all;
  }

  // Copy the patch whose first pixel is (top, left) to `to` [channels, patch height, patch width].
  void copy_patch(const float* image, std::int64_t top, std::int64_t left, float* to) const {
    const PatchConfig& c = config_;
    for (std::int64_t channel = 0; channel < c.channels; ++channel)
      for (std::int64_t y = 0; y < c.patch_height; ++y, to += c.patch_width) {
        if (c.spectrogram) {
          for (std::int64_t x = 0; x < c.patch_width; ++x) to[x] = image[(left + x) * c.height + top + y];
          continue;
        }
        std::memcpy(to, image + (channel * c.height + top + y) * c.width + left,
                    static_cast<std::size_t>(c.patch_width) * sizeof(float));
      }
  }

  PatchConfig config_;
  std::int64_t pixels_;  // number of values per patch: channels × patch height × patch width
  std::unique_ptr<nn::Linear> projection_;
  std::vector<std::unique_ptr<Parameter>> specials_;
  std::unique_ptr<Parameter> positions_;
  std::unique_ptr<nn::Norm> norm_;  // may be null
};

}  // namespace

std::unique_ptr<InputEmbedding> make_patch_embedding(const InputEmbeddingConfig& config,
                                                     std::int64_t hidden) {
  return std::make_unique<PatchEmbedding>(config, hidden);
}

}  // namespace regard::models
