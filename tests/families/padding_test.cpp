// Padding tokens in the input of a model, as in transformers: a classifier reads the last token that is not
// padding, and the position of padding is not trained.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/network.h"
#include "ops/parameter.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

Tensor row_of_ids(std::initializer_list<std::int64_t> ids) {
  Tensor row = Tensor::empty({1, std::ssize(ids)}, DType::i64);
  std::copy(ids.begin(), ids.end(), row.i64());
  return row;
}

Json tiny_config(const std::string& folder) {
  return formats::ModelFolder::open(HfFolder(folder).path).config;
}

class Classifier {
 public:
  Classifier(const std::string& folder, const std::string& name, const Json& padding) : pool_(1) {
    Json config = tiny_config(folder);
    config["architectures"] = {name}, config["num_labels"] = 3;
    if (padding.is_null())
      config.erase("pad_token_id");
    else
      config["pad_token_id"] = padding;
    model_ = make_model(config);
    models::initialise(*model_, 7);
  }

  std::vector<float> logits(std::initializer_list<std::int64_t> ids) {
    inspect::TensorRunOptions options;
    options.capture = {"logits"};
    const Tensor all =
        inspect::run_tensors(*model_, pool_, {{"input_ids", row_of_ids(ids)}}, options).at("logits");
    EXPECT_EQ(all.elements(), 3);
    return {all.f32(), all.f32() + all.elements()};
  }

 private:
  ThreadPool pool_;
  std::unique_ptr<Network> model_;
};

TEST(LastTokenClassifier, ReadsTheLastTokenThatIsNotPadding) {
  for (const auto& [folder, name] : {std::pair("llama", "LlamaForSequenceClassification"),
                                     std::pair("gpt2", "GPT2ForSequenceClassification"),
                                     std::pair("qwen2", "Qwen2ForSequenceClassification"),
                                     std::pair("mistral", "MistralForSequenceClassification")}) {
    Classifier model(folder, name, 9);
    const std::vector<float> expected = model.logits({5, 9, 6, 7});
    EXPECT_EQ(model.logits({5, 9, 6, 7, 9, 9}), expected) << name;
    EXPECT_NE(model.logits({5, 9, 6, 7, 8}), expected) << name;
    EXPECT_EQ(model.logits({9, 9, 9}), model.logits({9})) << name;
    Classifier unpadded(folder, name, Json());
    EXPECT_NE(unpadded.logits({5, 9, 6, 7, 9, 9}), expected) << name;
  }
}

TEST(LastTokenClassifier, UsesTheDefaultPaddingOfGemma) {
  Classifier model("gemma", "GemmaForSequenceClassification", Json());
  EXPECT_EQ(model.logits({5, 6, 0, 0}), model.logits({5, 6}));
}

// The position table has a padding_idx in transformers, so its row gets no gradient.
TEST(PositionOfPadding, GetsNoGradient) {
  for (const std::string folder : {"roberta", "mpnet"}) {
    const std::unique_ptr<Network> model = make_model(tiny_config(folder));
    models::initialise(*model, 7);
    ThreadPool pool(1);
    Tensor weights = Tensor::empty({1, 4, model->hidden_size()});
    std::fill_n(weights.f32(), weights.elements(), 0.0f);
    weights.f32()[0] = 1.0f, weights.f32()[3 * model->hidden_size() + 1] = 1.0f;
    const inspect::TensorMap inputs{{"input_ids", row_of_ids({5, 6, 1, 1})},
                                    {"loss_weight.last_hidden_state", weights}};
    inspect::TensorRunOptions options;
    options.capture = {"gradients"};
    std::size_t found = 0;
    for (const auto& [name, gradient] : inspect::run_tensors(*model, pool, inputs, options)) {
      if (!name.ends_with("position_embeddings.weight")) continue;
      ++found;
      for (std::int64_t row = 0; row < gradient.rows(); ++row) {
        const float* const g = gradient.row(row);
        const bool any = std::any_of(g, g + gradient.columns(), [](float x) { return x != 0.0f; });
        EXPECT_EQ(any, row == 2 || row == 3) << folder << " " << row;
      }
    }
    EXPECT_EQ(found, 1u) << folder;
  }
}

}  // namespace
}  // namespace regard::testing
