// Padding tokens in the input of a model, as in transformers.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/network.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

Tensor row_of_ids(std::initializer_list<std::int64_t> ids) {
  Tensor row = Tensor::empty({1, std::ssize(ids)}, DType::i64);
  std::copy(ids.begin(), ids.end(), row.i64());
  return row;
}

Json config_of(const std::string& folder) {
  return formats::ModelFolder::open(HfFolder(folder).path).config;
}

class Classifier {
 public:
  Classifier(const std::string& folder, const std::string& name, const Json& padding) : pool_(1) {
    Json config = config_of(folder);
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

}  // namespace
}  // namespace regard::testing
