// The layers that a LoRA adapter changes, and their ranks, chosen by names and regular expressions.
#include <gtest/gtest.h>

#include "models/lora.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(LoraTargets, RanksHaveLimits) {
  LoraConfig config;
  config.targets = {"c_attn"};
  for (const std::int64_t rank : {1, 1 << 20}) {
    config.rank = rank;
    config.rank_pattern = {{"c_proj", rank}};
    EXPECT_NO_THROW(config.check()) << rank;
  }
  for (const std::int64_t rank : {-1, 0, (1 << 20) + 1}) {
    config.rank = rank, config.rank_pattern.clear();
    EXPECT_REGARD_ERROR(
        config.check(), ErrorKind::usage,
        "the rank of an adapter is out of range (expected 1 to 1048576, found " + std::to_string(rank) + ")");
    config.rank = 8, config.rank_pattern = {{"c_proj", rank}};
    config.file = "a.json";
    EXPECT_REGARD_ERROR(config.check(), ErrorKind::bad_file, "a.json: the rank of an adapter");
    config.file = "";
  }
  config.rank_pattern.clear();
  config.bias = "some";
  EXPECT_REGARD_ERROR(config.check(), ErrorKind::usage, "(expected none, all or lora_only, found \"some\")");
}

// PEFT matches module names with str.endswith().
TEST(LoraTargets, SavedModulesAreNamedByTheirEndings) {
  LoraConfig config;
  config.modules_to_save = {"classifier", "norm"};
  for (const char* module : {"classifier", "classifier.out_proj", "pre_classifier", "model.norm",
                             "model.layers.0.input_layernorm"})
    EXPECT_TRUE(config.saves(module)) << module;
  for (const char* module : {"classifiers", "normal.weight", "model.layers.0.norm1"})
    EXPECT_FALSE(config.saves(module)) << module;
}

// In PEFT, a string in "exclude_modules" is a regular expression for the complete name (re.fullmatch).
TEST(LoraTargets, ExcludedModulesMayBeARegularExpression) {
  Json json = read_json(testing::golden("lora/gpt2/adapter/adapter_config.json").string());
  json["target_modules"] = {"c_attn", "c_proj"};
  json["exclude_modules"] = ".*\\.h\\.0\\..*";
  const LoraConfig config = LoraConfig::from_json(json, "adapter_config.json");
  EXPECT_FALSE(config.adapts("transformer.h.0.attn.c_attn"));
  EXPECT_TRUE(config.adapts("transformer.h.1.attn.c_attn"));
  EXPECT_EQ(config.to_json(true, "")["exclude_modules"], json["exclude_modules"]);
  json["exclude_modules"] = "c_attn";
  EXPECT_TRUE(LoraConfig::from_json(json, "adapter_config.json").adapts("transformer.h.0.attn.c_attn"));
}

// Python's re accepts these patterns, and a group in a pattern must not replace the index of the layer.
TEST(LoraTargets, PatternsHavePythonsSyntax) {
  LoraConfig config;
  config.target_pattern = "(?P<start>.*)\\.(?<!self_)attn\\.(?:q|v)_proj";
  EXPECT_TRUE(config.adapts("model.layers.0.attn.q_proj"));
  EXPECT_FALSE(config.adapts("model.layers.0.attn.q_proj.bias"));
  config.target_pattern.clear();
  config.targets = {"q_proj"}, config.layers = {1}, config.layers_pattern = {"(h|layers)"};
  EXPECT_TRUE(config.adapts("model.layers.1.attn.q_proj"));
  EXPECT_FALSE(config.adapts("model.layers.0.attn.q_proj"));
  EXPECT_FALSE(config.adapts("model.blocks.1.attn.q_proj"));
}

// With backtracking, this pattern takes exponential time. It must be refused instead.
TEST(LoraTargets, PatternsThatTakeTooLongAreRefused) {
  Json json = read_json(testing::golden("lora/gpt2/adapter/adapter_config.json").string());
  json["target_modules"] = "(([a-zA-Z.0-9])+)+[!?]";
  EXPECT_REGARD_ERROR(LoraConfig::from_json(json, "adapter_config.json")
                          .adapts("transformer.encoder.block.3.layer.1.DenseReluDense"),
                      ErrorKind::bad_file, "adapter_config.json: the regular expression cannot be matched");
  LoraConfig config;
  config.rank_pattern = {{"(([a-z._0-9])+)+[!?]", 3}};
  EXPECT_REGARD_ERROR(config.rank_of("transformer.encoder.block.3.layer.1.dense_relu_dense"),
                      ErrorKind::usage, "the regular expression cannot be matched");
}

TEST(LoraTargets, UnknownTargetsNameOneThatExists) {
  const auto model = load_model(formats::ModelFolder::open(testing::golden("lora/gpt2")));
  LoraConfig config;
  config.targets = {"q_proj"};
  EXPECT_REGARD_ERROR(
      Lora(*model, config, 1), ErrorKind::usage,
      "no module of the model matches the adapter's targets (expected the end of a linear layer's "
      "name, such as \"c_attn\", found [\"q_proj\"])");
  config.targets = {"wte"};
  EXPECT_REGARD_ERROR(Lora(*model, config, 1), ErrorKind::usage, "modules_to_save");
  config.targets = {"c_attn"};
  config.modules_to_save = {"score"};
  EXPECT_REGARD_ERROR(Lora(*model, config, 1), ErrorKind::usage, "score");
}

}  // namespace
}  // namespace regard::testing
