// Weights that a model for training takes from a base model: all that fit, wherever they are in the order of
// the weights.
#include "models/copy_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "ops/parameter.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

Json bert_config() {
  return read_json(testing::golden("hf-tiny/bert/config.json").string());
}

// Make a model whose weights all have the value `value`.
std::unique_ptr<Network> filled(const Json& config, float value) {
  auto model = make_model(config);
  for (Parameter* parameter : model->parameters()) {
    parameter->allocate();
    std::fill_n(parameter->value().f32(), parameter->value().elements(), value);
  }
  return model;
}

// Return the names of the weights whose elements are not all `value`.
std::vector<std::string> others(Network& model, float value) {
  std::vector<std::string> names;
  for (const Parameter* parameter : model.parameters()) {
    const float* const data = parameter->value().f32();
    if (!std::all_of(data, data + parameter->value().elements(), [&](float x) { return x == value; }))
      names.push_back(parameter->name);
  }
  return names;
}

TEST(CopyWeights, SkipsOnlyThoseThatDoNotFit) {
  Json config = bert_config();
  const auto base = filled(config, 2.0f);
  // The first table has another size, so it cannot be copied. The weights after it are copied.
  config["vocab_size"] = config["vocab_size"].get<int>() + 1;
  const auto model = filled(config, 1.0f);
  const std::vector<std::string> unset = copy_weights(*base, *model, "");
  EXPECT_EQ(unset, std::vector<std::string>{"embeddings.word_embeddings.weight"});
  EXPECT_EQ(others(*model, 2.0f), unset);
}

// The names of a classifier's weights begin with "bert."; those of the base model's weights do not.
TEST(CopyWeights, KnowsNamesWithAndWithoutThePrefix) {
  Json config = bert_config();
  const auto base = filled(config, 2.0f);
  config["architectures"] = {"BertForSequenceClassification"};
  const auto model = filled(config, 1.0f);
  const std::vector<std::string> unset = copy_weights(*base, *model, "");
  EXPECT_EQ(unset, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(others(*model, 2.0f), unset);
}

TEST(CopyWeights, LeavesOutTheExceptedOnes) {
  Json config = bert_config();
  config["architectures"] = {"BertForSequenceClassification"};
  const auto base = filled(config, 2.0f), model = filled(config, 1.0f), whole = filled(config, 1.0f);
  EXPECT_EQ(copy_weights(*base, *model, "classifier."),
            (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(others(*model, 2.0f), (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_TRUE(copy_weights(*base, *whole, "").empty());
  EXPECT_TRUE(others(*whole, 2.0f).empty());
}

}  // namespace
}  // namespace regard::testing
