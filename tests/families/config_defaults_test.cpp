// Keys that config.json does not contain have the default values of transformers' configuration classes.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/families/families.h"
#include "models/network.h"
#include "models/stack.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

// Return config.json of a folder of hf-open.
Json config_of(const std::string& folder) {
  return read_json((testing::golden("hf-open") / folder / "config.json").string());
}

Architecture read_config(const Json& config) {
  return families::read(config, "config.json");
}

TEST(ConfigDefaults, NumberOfKeyValueHeads) {
  for (const auto& [folder, heads] :
       {std::pair("mistral", 8), std::pair("qwen2", 32), std::pair("qwen3", 32), std::pair("gemma", 16)}) {
    Json config = config_of(folder);
    config["num_attention_heads"] = 64, config["hidden_size"] = 64;
    config.erase("num_key_value_heads");
    EXPECT_EQ(read_config(config).decoder->block.self.kv_heads, heads) << folder;
    config["num_key_value_heads"] = nullptr;
    EXPECT_EQ(read_config(config).decoder->block.self.kv_heads, 64) << folder;
    config["num_attention_heads"] = 4;
    config.erase("num_key_value_heads");
    EXPECT_REGARD_ERROR(read_config(config), ErrorKind::bad_file, "does not divide num_attention_heads");
  }
  Json llama = config_of("llama");
  llama.erase("num_key_value_heads");
  EXPECT_EQ(read_config(llama).decoder->block.self.kv_heads, 2);
}

// The token whose embedding is not trained (padding_idx). A null key means that there is none.
TEST(ConfigDefaults, PaddingToken) {
  for (const auto& [folder, token] :
       {std::pair("bert", 0), std::pair("electra", 0), std::pair("distilbert", 0), std::pair("roberta", 1),
        std::pair("xlm-roberta", 1), std::pair("gemma", 0), std::pair("llama", -1), std::pair("mistral", -1),
        std::pair("bart", 1), std::pair("pegasus", 0), std::pair("blenderbot", 0),
        std::pair("mbart-captions", 1)}) {
    Json config = config_of(folder);
    (config.contains("decoder") ? config["decoder"] : config).erase("pad_token_id");
    const Architecture architecture = read_config(config);
    EXPECT_EQ((architecture.decoder ? architecture.decoder : architecture.encoder)->input.padding, token)
        << folder;
  }
  Json config = config_of("bert");
  config["pad_token_id"] = nullptr;
  EXPECT_EQ(read_config(config).encoder->input.padding, -1);
  for (const char* folder : {"marian", "whisper-scaled"}) {
    config = config_of(folder);
    config.erase("pad_token_id");
    EXPECT_REGARD_ERROR(read_config(config), ErrorKind::bad_file, "outside the vocabulary");
  }
}

// As attribute_map of transformers' configuration classes.
TEST(ConfigAliases, ReplaceTheKeysOfTheFamily) {
  Json config = config_of("marian");
  config["num_attention_heads"] = 4, config["encoder_layers"] = 3, config["num_hidden_layers"] = 2;
  const Architecture marian = read_config(config);
  EXPECT_EQ(marian.encoder->block.self.heads, 4);
  EXPECT_EQ(marian.decoder->block.self.heads, 2);
  EXPECT_EQ(marian.encoder->layers, 2);
  EXPECT_EQ(marian.config, config) << "the config is saved unmodified";
  config = config_of("whisper-scaled");
  config["num_key_value_heads"] = 4;
  EXPECT_EQ(read_config(config).encoder->block.self.heads, 4);
  config = config_of("distilbert");
  config.erase("dim");
  config["hidden_size"] = 8, config["n_heads"] = nullptr, config["num_attention_heads"] = 1;
  EXPECT_EQ(read_config(config).encoder->block.self.heads, 1);
  EXPECT_EQ(read_config(config).hidden, 8);
  config["num_attention_heads"] = nullptr, config["n_heads"] = 2;
  EXPECT_EQ(read_config(config).encoder->block.self.heads, 2);
}

TEST(ConfigKeys, TieLastHiddenStatesSelectsTheLastHiddenState) {
  for (const char* folder : {"llama", "t5", "vit-no-pooler"}) {
    Json config = config_of(folder);
    for (const bool tied : {false, true}) {
      config["tie_last_hidden_states"] = tied;
      const Architecture architecture = read_config(config);
      for (const auto* stack : {&architecture.encoder, &architecture.decoder}) {
        if (*stack) {
          EXPECT_EQ((*stack)->last_state_is_normed, tied) << folder;
        }
      }
    }
    config.erase("tie_last_hidden_states");
    const Architecture architecture = read_config(config);
    EXPECT_EQ((architecture.decoder ? architecture.decoder : architecture.encoder)->last_state_is_normed,
              std::string(folder) != "vit-no-pooler");
  }
}

// The heads of RoBERTa and ELECTRA apply dropout twice. DistilBERT has a separate rate for questions.
TEST(ConfigKeys, DropoutOfHeads) {
  for (const auto& [folder, kind] : {std::pair("roberta", "RobertaForSequenceClassification"),
                                     std::pair("xlm-roberta", "XLMRobertaForSequenceClassification"),
                                     std::pair("electra", "ElectraForSequenceClassification"),
                                     std::pair("bert", "BertForSequenceClassification")}) {
    Json config = config_of(folder);
    config["architectures"] = {kind}, config["classifier_dropout"] = 0.25;
    const HeadConfig head = read_config(config).head;
    EXPECT_EQ(head.dropout, 0.25f) << folder;
    EXPECT_EQ(head.input_dropout, std::string(folder) == "bert" ? 0.0f : 0.25f) << folder;
  }
  Json config = config_of("distilbert");
  config["architectures"] = {"DistilBertForQuestionAnswering"};
  config.erase("qa_dropout");
  EXPECT_EQ(read_config(config).head.dropout, 0.1f);
  config["qa_dropout"] = 0.5;
  EXPECT_EQ(read_config(config).head.dropout, 0.5f);
}

TEST(ConfigKeys, InputDropoutIsAppliedInTraining) {
  HeadConfig config;
  config.rows = HeadConfig::Rows::first;
  config.dense = {{"dense", 64, kernels::Activation::none, false, "", {}}};
  config.input_dropout = 0.5f;
  const Head head(config, 64, TokenTables());
  std::vector<Parameter*> weights;
  head.collect(weights);
  weights[0]->allocate();  // the identity
  for (std::int64_t i = 0; i < 64; ++i) weights[0]->value().row(i)[i] = 1.0f;
  RaggedBuffer batch;
  batch.add(1, 0);
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  for (const bool training : {false, true}) {
    tape.begin({.training = training});
    const Tensor hidden = tape.arena().tensor({1, 64});
    std::fill_n(hidden.f32(), 64, 1.0f);
    const Tensor y = head.forward(tape, tape.constant(hidden), {.ids = {}, .shape = batch.view()})->value;
    const auto count = [&](float value) { return std::count(y.f32(), y.f32() + 64, value); };
    EXPECT_EQ(count(1.0f), training ? 0 : 64);
    EXPECT_EQ(count(0.0f) + count(2.0f), training ? 64 : 0);
    EXPECT_EQ(count(0.0f) > 0 && count(2.0f) > 0, training);
  }
}

TEST(ConfigKeys, SettingsOfSingleLayersAreRefused) {
  Json config = config_of("mistral");
  config["per_layer_config"] = Json::object();
  read_config(config);
  config["per_layer_config"]["1"]["sliding_window"] = 3;
  EXPECT_REGARD_ERROR(read_config(config), ErrorKind::bad_file, "\"per_layer_config\"");
}

// transformers starts the sum of wav2vec2's hidden states, the input of the first layer and the output of
// each layer, with equal weights.
TEST(ConfigDefaults, WeightsOfLayersStartEqual) {
  const auto model =
      make_model(read_json(testing::golden("hf-tiny/wav2vec2-weighted/config.json").string()), "c.json");
  std::size_t found = 0;
  for (const Parameter* parameter : model->parameters()) {
    if (parameter->name != "layer_weights") continue;
    ++found;
    EXPECT_EQ(parameter->value().shape(), Shape({3}));
    EXPECT_EQ(parameter->initial.kind, Initialisation::Kind::constant);
    EXPECT_EQ(parameter->initial.value, 1.0 / 3.0);
  }
  EXPECT_EQ(found, 1U);
}

}  // namespace
}  // namespace regard::testing
