// Patterns of weights' names, frozen weights, and layer-wise learning rates.
#include "train/layer_rates.h"
#include "ops/parameter.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/throws.h"

namespace regard::train {
namespace {

TEST(Patterns, StarsAndQuestionMarks) {
  EXPECT_TRUE(matches("encoder.layers.0.query.weight", "encoder.*"));
  EXPECT_TRUE(matches("encoder.layers.0.query.weight", "*.query.*"));
  EXPECT_TRUE(matches("encoder.layers.0.query.weight", "encoder.layers.?.*weight"));
  EXPECT_TRUE(matches("a.b.b", "a*b"));
  EXPECT_TRUE(matches("", "*"));
  EXPECT_FALSE(matches("encoder.layers.10.bias", "encoder.layers.?.bias"));
  EXPECT_FALSE(matches("decoder.encoder.x", "encoder.*"));
  EXPECT_FALSE(matches("encoder", "encoder.*"));
  EXPECT_FALSE(matches("encoderxlayers", "encoder.layers")) << "a dot is a dot";
}

class Names {
 public:
  explicit Names(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      owned_.push_back(std::make_unique<Parameter>());
      owned_.back()->name = name;
      owned_.back()->variable.value = Tensor::zeros({1});
      owned_.back()->set_trainable(true);
      all.push_back(owned_.back().get());
    }
  }
  std::vector<Parameter*> all;

 private:
  std::vector<std::unique_ptr<Parameter>> owned_;
};

TEST(Freeze, PatternsMustMatchAndLeaveSomething) {
  Names names({"encoder.0.weight", "encoder.1.weight", "head.weight"});
  const std::vector<std::string> lower{"encoder.0.*"}, typo{"head.wieght"}, all{"*"};
  freeze(names.all, lower);
  EXPECT_FALSE(names.all[0]->trainable());
  EXPECT_TRUE(names.all[1]->trainable());
  EXPECT_REGARD_ERROR(freeze(names.all, typo), ErrorKind::usage, "\"head.weight\"");
  EXPECT_REGARD_ERROR(freeze(names.all, all), ErrorKind::usage, "freezes all weights");
}

TEST(LayerRates, FallWithDepthBelowTheHead) {
  Names names({"bert.embeddings.word_embeddings.weight", "bert.encoder.layer.0.attention.weight",
               "bert.encoder.layer.1.attention.weight", "bert.encoder.layer.2.output.bias",
               "classifier.weight", "decoder.block.0.weight"});
  EXPECT_TRUE(layer_rates(names.all, names.all, 1.0).empty());
  const std::vector<double> rates = layer_rates(names.all, names.all, 0.5);
  EXPECT_EQ(rates, (std::vector<double>{0.0625, 0.125, 0.25, 0.5, 1.0, 0.5}));
  // The number of layers is counted in the whole model, even if only a part is trained.
  const std::vector<Parameter*> part{names.all[1]};
  EXPECT_EQ(layer_rates(names.all, part, 0.5), (std::vector<double>{0.125}));
}

// The convolutions of Whisper and wav2vec 2.0 are below the layers of the Transformer, except those of
// wav2vec 2.0 after its encoder.
TEST(LayerRates, ConvolutionsOverSoundsAreBelowTheFirstLayer) {
  Names wav2vec2({"wav2vec2.feature_extractor.conv_layers.6.conv.weight",
                  "wav2vec2.feature_projection.projection.weight",
                  "wav2vec2.encoder.layers.0.attention.q_proj.weight",
                  "wav2vec2.encoder.layers.1.attention.q_proj.weight", "lm_head.weight"});
  EXPECT_EQ(layer_rates(wav2vec2.all, wav2vec2.all, 0.5),
            (std::vector<double>{0.125, 0.125, 0.25, 0.5, 1.0}));
  Names adapter({"feature_projection.projection.weight", "encoder.layers.0.attention.q_proj.weight",
                 "adapter.proj.weight", "adapter.layers.0.conv.weight", "adapter.layers.2.conv.weight"});
  EXPECT_EQ(layer_rates(adapter.all, adapter.all, 0.5), (std::vector<double>{0.25, 0.5, 1.0, 1.0, 1.0}));
  Names whisper({"model.encoder.conv1.weight", "model.encoder.conv2.bias",
                 "model.encoder.layers.0.fc1.weight", "model.encoder.layer_norm.weight"});
  EXPECT_EQ(layer_rates(whisper.all, whisper.all, 0.5), (std::vector<double>{0.25, 0.25, 0.5, 1.0}));
}

}  // namespace
}  // namespace regard::train
