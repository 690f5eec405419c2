// The configuration is written to JSON and read back, errors name the invalid key, and the models of the
// paper and of nanoGPT have their published sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "models/transformer.h"
#include "ops/parameter.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

TEST(TransformerConfig, WhatIsWrittenIsReadAgain) {
  for (const std::string& name : testing::tiny_model_names()) {
    const Json written = testing::tiny_config(name).to_json();
    EXPECT_EQ(written["model_type"], "regard-transformer");
    const std::unique_ptr<Network> model = make_model(written, "there.json");
    EXPECT_EQ(model->config(), written) << name;
    const std::unique_ptr<Network> first = testing::tiny_model(name);
    const std::vector<Parameter*> mine = model->parameters(), theirs = first->parameters();
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      EXPECT_EQ(mine[i]->name, theirs[i]->name);
      EXPECT_EQ(mine[i]->value().shape(), theirs[i]->value().shape());
    }
  }
}

struct Wrong {
  const char* json;
  std::vector<std::string> named;
};

TEST(TransformerConfig, WrongOnesAreRefusedByName) {
  const Wrong cases[] = {
      {R"({"vocabulary": 9})", {"model_type"}},
      {R"({"model_type": "alexnet"})", {"alexnet", "regard-transformer"}},
      {R"({"model_type": 3})", {"model_type", "3"}},
      {R"({"model_type": "regard-transformer"})", {"vocabulary"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "hiden_size": 8})",
       {"hiden_size", "hidden_size"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "hidden_size": "8"})", {"hidden_size"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "hidden_size": 8.5})",
       {"hidden_size", "8.5"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 0})", {"vocabulary", "0"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "heads": 7})", {"heads", "7", "512"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "kv_heads": 3})", {"kv_heads", "3", "8"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "activation": "mish"})",
       {"activation", "mish", "relu"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "norm": "mid"})",
       {"norm", "mid", "pre, post"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "positions": "learned"})", {"max_positions"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "dropout": 1.0})", {"dropout", "1"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "source_vocabulary": 8})",
       {"tie_embeddings"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "kind": "decoder", "encoder_layers": 2})",
       {"encoder_layers", "decoder"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "layers": 2})", {"layers"}},
      {R"({"model_type": "regard-transformer", "vocabulary": 9, "norm_epsilon": 0})", {"norm_epsilon"}},
      {R"([1])", {"object"}},
  };
  for (const Wrong& wrong : cases) {
    try {
      make_model(Json::parse(wrong.json), "there.json");
      ADD_FAILURE() << wrong.json << " was let pass";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << wrong.json;
      const std::string said = error.what();
      EXPECT_NE(said.find("there.json"), std::string::npos) << said;
      for (const std::string& part : wrong.named)
        EXPECT_NE(said.find(part), std::string::npos) << "\"" << part << "\" is missing in: " << said;
    }
  }
}

// The first and the last accepted value of each integer key, and the values beside them, which are refused.
TEST(TransformerConfig, LimitsOfIntegers) {
  constexpr std::int64_t kLargest = 1 << 24;
  struct Limits {
    const char* key;
    std::int64_t TransformerConfig::*value;
    std::int64_t low, high;
  };
  for (const Limits& limits :
       {Limits{"vocabulary", &TransformerConfig::vocabulary, 1, kLargest},
        {"encoder_layers", &TransformerConfig::encoder_layers, 1, 1024},
        {"decoder_layers", &TransformerConfig::decoder_layers, 1, 1024},
        {"layers", &TransformerConfig::layers, 1, 1024},
        {"hidden_size", &TransformerConfig::hidden_size, 1, 1 << 20},
        {"heads", &TransformerConfig::heads, 1, 512},
        {"kv_heads", &TransformerConfig::kv_heads, 0, 8},
        {"head_size", &TransformerConfig::head_size, 0, 1 << 16},
        {"feed_forward_size", &TransformerConfig::feed_forward_size, 1, kLargest},
        {"max_positions", &TransformerConfig::max_positions, 0, 1 << 30},
        {"pad_token_id", &TransformerConfig::pad_token_id, -1, kLargest - 1},
        {"bos_token_id", &TransformerConfig::bos_token_id, -1, kLargest - 1},
        {"eos_token_id", &TransformerConfig::eos_token_id, -1, kLargest - 1},
        {"decoder_start_token_id", &TransformerConfig::decoder_start_token_id, -1, kLargest - 1}}) {
    const auto check = [&](std::int64_t value) {
      TransformerConfig config;
      config.vocabulary = 9, config.positions = "sinusoidal";
      config.*limits.value = value;
      if (config.hidden_size == 1) config.heads = 1;
      config.check();
    };
    EXPECT_NO_THROW(check(limits.low)) << limits.key;
    EXPECT_NO_THROW(check(limits.high)) << limits.key;
    const std::string range = std::to_string(limits.low) + " to " + std::to_string(limits.high);
    for (const std::int64_t wrong : {limits.low - 1, limits.high + 1}) {
      try {
        check(wrong);
        ADD_FAILURE() << limits.key << " " << wrong;
      } catch (const Error& error) {
        const std::string said = error.what();
        for (const std::string& part : {std::string(limits.key), range, std::to_string(wrong)})
          EXPECT_NE(said.find(part), std::string::npos) << part << " is missing in: " << said;
      }
    }
  }
}

// Values at the limits of the rates and the other numbers. Two of the three rates may be negative, which
// means the value of `dropout`.
TEST(TransformerConfig, LimitsOfNumbers) {
  struct Numbers {
    const char* key;
    double TransformerConfig::*value;
    std::vector<double> right, wrong;
  };
  const double nan = std::nan("");
  for (const Numbers& numbers :
       {Numbers{"dropout", &TransformerConfig::dropout, {0.0, 0.999}, {-0.001, 1.0, nan}},
        {"attention_dropout", &TransformerConfig::attention_dropout, {-1.0, 0.0, 0.999}, {1.0, nan}},
        {"activation_dropout", &TransformerConfig::activation_dropout, {-1.0, 0.0, 0.999}, {1.0, nan}},
        {"norm_epsilon", &TransformerConfig::norm_epsilon, {1e-30, 0.999}, {0.0, 1.0, nan}},
        {"rotary_base", &TransformerConfig::rotary_base, {1.001, 1e12}, {1.0, nan}}}) {
    const auto check = [&](double value) {
      TransformerConfig config;
      config.vocabulary = 9, config.*numbers.value = value;
      config.check();
    };
    for (const double right : numbers.right) EXPECT_NO_THROW(check(right)) << numbers.key << " " << right;
    for (const double wrong : numbers.wrong) {
      try {
        check(wrong);
        ADD_FAILURE() << numbers.key << " " << wrong;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(numbers.key), std::string::npos) << error.what();
      }
    }
  }
}

// "Attention Is All You Need", table 3: the base model has 65 million parameters (with 37,000 tokens; source,
// target and output share the embedding).
TEST(TransformerConfig, ThePapersModelsHaveThePapersSizes) {
  TransformerConfig config;
  config.vocabulary = 37000;
  EXPECT_NEAR(static_cast<double>(make_transformer(config)->parameter_count()) / 1e6, 65.0, 3.0);
}

// nanoGPT's small CPU recipe: 4 layers, hidden size 128, 4 heads, context 64, no biases. nanoGPT reports
// 0.80M parameters, without the position embedding.
TransformerConfig nano_gpt() {
  TransformerConfig config;
  config.kind = "decoder", config.vocabulary = 65, config.layers = 4;
  config.hidden_size = 128, config.heads = 4, config.feed_forward_size = 512;
  config.positions = "learned", config.max_positions = 64;
  config.activation = "gelu", config.bias = false, config.dropout = 0.0;
  return config;
}

TEST(TransformerConfig, NanoGptsRecipeCanBeSaid) {
  const std::unique_ptr<Network> model = make_transformer(nano_gpt());
  EXPECT_EQ(model->parameter_count() - 64 * 128, 795904);
  for (const Parameter* parameter : model->parameters())
    EXPECT_EQ(parameter->name.find(".bias"), std::string::npos) << parameter->name;
}

double deviation(const Tensor& tensor) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    sum += static_cast<double>(tensor.f32()[i]) * static_cast<double>(tensor.f32()[i]);
  return std::sqrt(sum / static_cast<double>(tensor.elements()));
}

TEST(Initialisation, IsThePapersCodes) {
  const std::unique_ptr<Network> gpt = make_transformer(nano_gpt());
  initialise(*gpt, 1);
  for (const Parameter* parameter : gpt->parameters()) {
    const bool ends_branch = parameter->name.find("output.weight") != std::string::npos ||
                             parameter->name.find("down.weight") != std::string::npos;
    double expected = ends_branch ? 0.02 / std::sqrt(8.0) : 0.02;
    if (parameter->name.find("norm") != std::string::npos) expected = 1.0;
    EXPECT_NEAR(deviation(parameter->value()) / expected, 1.0, 0.05) << parameter->name;
  }
  TransformerConfig config;
  config.vocabulary = 500, config.hidden_size = 64, config.heads = 4, config.feed_forward_size = 128;
  const std::unique_ptr<Network> translator = make_transformer(config);
  initialise(*translator, 1);
  for (const Parameter* parameter : translator->parameters()) {
    const Shape shape = parameter->value().shape();
    double expected = 1.0;
    if (parameter->name == "embedding.weight")
      expected = 1.0 / 8.0;
    else if (shape.rank() == 2)  // uniform in ±a: standard deviation a / √3
      expected = std::sqrt(2.0 / static_cast<double>(shape[0] + shape[1]));
    else if (parameter->name.find(".bias") != std::string::npos)
      expected = 0.0;
    EXPECT_NEAR(deviation(parameter->value()), expected, 0.05 * expected) << parameter->name;
  }
}

// The initial value of a weight depends only on the seed and its name.
TEST(Initialisation, DependsOnSeedAndNameAlone) {
  TransformerConfig shallow = nano_gpt(), deep = nano_gpt();
  shallow.initialisation = deep.initialisation = "xavier";
  deep.layers = 6;
  const std::unique_ptr<Network> one = make_transformer(shallow), other = make_transformer(deep),
                                 again = make_transformer(shallow);
  initialise(*one, 5), initialise(*other, 5), initialise(*again, 6);
  const auto find = [](Network& model, const std::string& name) {
    for (const Parameter* parameter : model.parameters())
      if (parameter->name == name)
        return std::vector<float>(parameter->value().f32(),
                                  parameter->value().f32() + parameter->value().elements());
    throw std::runtime_error(name);
  };
  const std::string name = "decoder.layers.2.self_attention.key.weight";
  EXPECT_EQ(find(*one, name), find(*other, name));
  EXPECT_NE(find(*one, name), find(*again, name));
  EXPECT_NE(find(*one, name), find(*one, "decoder.layers.1.self_attention.key.weight"));
}

}  // namespace
}  // namespace regard::testing
