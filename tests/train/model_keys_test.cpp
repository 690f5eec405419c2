// Keys of [model] and [lora]: which families use them, and the configurations of new models and adapters.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/throws.h"
#include "train/lora_keys.h"
#include "train/new_families.h"
#include "train/run_config.h"

namespace regard::train {
namespace {

// Return the keys of [model] that a new sequence model of this family and task reads, without those that all
// families read.
std::set<std::string> keys_of(const std::string& family, const std::string& task) {
  RunConfig config;
  config.task = task;
  config.model.family = family;
  std::set<std::string> keys;
  for (const Field& field : run_fields(config))
    if (field.section == "model" && why_unused_in_sequence_model(config, field.key).empty())
      keys.insert(field.key);
  for (const char* key : {"family", "from", "vectors", "freeze_vectors", "hidden_size", "encoder_layers",
                          "decoder_layers", "layers", "dropout"})
    EXPECT_EQ(keys.erase(key), 1u) << key;
  return keys;
}

TEST(SequenceKeys, AreReadByTheseFamilies) {
  using Keys = std::set<std::string>;
  for (const char* family : {"lstm", "gru"}) {
    EXPECT_EQ(keys_of(family, "classification"), (Keys{"bidirectional", "embedding_size", "pooling"}));
    EXPECT_EQ(keys_of(family, "token-classification"), (Keys{"bidirectional", "embedding_size"}));
    EXPECT_EQ(keys_of(family, "language-model"), (Keys{"embedding_size", "tie_embeddings"}));
  }
  EXPECT_EQ(keys_of("rnn", "classification"),
            (Keys{"bidirectional", "embedding_size", "nonlinearity", "pooling"}));
  EXPECT_EQ(keys_of("rnn", "language-model"), (Keys{"embedding_size", "nonlinearity", "tie_embeddings"}));
  EXPECT_EQ(keys_of("mlp", "classification"), (Keys{"embedding_size", "pooling"}));
  EXPECT_EQ(keys_of("cnn", "classification"), (Keys{"embedding_size", "filter_widths", "pooling"}));
  EXPECT_EQ(keys_of("rnn-search", "translation"),
            (Keys{"attention", "bidirectional", "cell", "embedding_size", "tie_embeddings"}));
  const Keys other = keys_of("transformer", "translation");
  for (const char* key :
       {"attention", "bidirectional", "cell", "embedding_size", "filter_widths", "nonlinearity", "pooling"})
    EXPECT_FALSE(other.contains(key)) << key;
  for (const char* key : {"heads", "norm", "tie_embeddings"}) EXPECT_TRUE(other.contains(key)) << key;
}

TEST(SequenceKeys, AreWrittenToTheConfiguration) {
  RunConfig config;
  config.task = "classification";
  config.model.family = "cnn";
  config.model.transformer.hidden_size = 6;
  config.model.transformer.layers = 2, config.model.transformer.dropout = 0.25;
  const SpecialIds special{.pad = 0, .begin = -1, .end = 3, .decoder_start = -1};
  EXPECT_EQ(sequence_model_json(config, 20, special), (Json{{"model_type", "regard-cnn"},
                                                            {"vocabulary", 20},
                                                            {"hidden_size", 6},
                                                            {"embedding_size", 6},
                                                            {"layers", 2},
                                                            {"dropout", 0.25},
                                                            {"filter_widths", {3, 4, 5}},
                                                            {"pad_token_id", 0},
                                                            {"eos_token_id", 3}}));
  config.model.sequence.pooling = "mean", config.model.sequence.embedding_size = 5;
  EXPECT_EQ(sequence_model_json(config, 20, special)["pooling"], "mean");
  EXPECT_EQ(sequence_model_json(config, 20, special)["embedding_size"], 5);
  for (const double width : {0.0, 1.5, 1'000'001.0}) {
    config.model.sequence.filter_widths = {2, width};
    EXPECT_REGARD_ERROR(sequence_model_json(config, 20, special), ErrorKind::usage,
                        "'model.filter_widths' has");
  }
  config.model.sequence.filter_widths = {1, 1e6};
  EXPECT_EQ(sequence_model_json(config, 20, special)["filter_widths"], (Json{1, 1'000'000}));
  config.task = "translation", config.model.family = "rnn-search", config.model.sequence = {};
  config.model.transformer.encoder_layers = 3, config.model.transformer.decoder_layers = 4;
  config.model.transformer.tie_embeddings = "none";
  const SpecialIds none{.pad = -1, .begin = 1, .end = -1, .decoder_start = -1};
  EXPECT_EQ(sequence_model_json(config, 20, none), (Json{{"model_type", "regard-rnn-search"},
                                                         {"vocabulary", 20},
                                                         {"hidden_size", 6},
                                                         {"embedding_size", 6},
                                                         {"layers", 4},
                                                         {"dropout", 0.25},
                                                         {"encoder_layers", 3},
                                                         {"bidirectional", false},
                                                         {"attention", "additive"},
                                                         {"cell", "gru"},
                                                         {"tie_embeddings", false},
                                                         {"bos_token_id", 1}}));
}

TEST(LoraKeys, SetTheConfigurationOfTheAdapter) {
  LoraKeys keys;
  EXPECT_FALSE(keys.used());
  keys.rank = 4;
  EXPECT_TRUE(keys.used());
  EXPECT_EQ(lora_config(keys, "base").alpha, 4.0) << "alpha is the rank by default";
  keys.alpha = 6, keys.targets = {"q_proj"}, keys.rslora = true, keys.bias = "all";
  keys.rank_pattern = {"q_proj=2", "a=b=8"}, keys.alpha_pattern = {"k_proj=0.5"};
  keys.layers = {0, 3}, keys.layers_pattern = {"h"}, keys.modules_to_save = {"classifier"};
  const LoraConfig config = lora_config(keys, "base");
  EXPECT_EQ(config.rank, 4);
  EXPECT_EQ(config.alpha, 6.0);
  EXPECT_EQ(config.targets, keys.targets);
  EXPECT_TRUE(config.rslora);
  EXPECT_EQ(config.rank_pattern,
            (std::vector<std::pair<std::string, std::int64_t>>{{"q_proj", 2}, {"a=b", 8}}));
  EXPECT_EQ(config.alpha_pattern, (std::vector<std::pair<std::string, double>>{{"k_proj", 0.5}}));
  EXPECT_EQ(config.layers, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(config.layers_pattern, keys.layers_pattern);
  EXPECT_EQ(config.bias, "all");
  EXPECT_EQ(config.modules_to_save, keys.modules_to_save);
  EXPECT_EQ(config.base_model, "base");
  for (const char* entry :
       {"q_proj", "q_proj=", "q_proj=x", "q_proj=1x", "q_proj=0", "q_proj=-1", "q_proj=inf"}) {
    keys.rank_pattern = {entry};
    EXPECT_REGARD_ERROR(lora_config(keys, ""), ErrorKind::usage,
                        "'lora.rank_pattern' has an entry that is not");
  }
  keys.rank_pattern = {"q_proj=2.5"};
  EXPECT_REGARD_ERROR(lora_config(keys, ""), ErrorKind::usage,
                      "'lora.rank_pattern' has a value that is not a whole");
  keys.rank_pattern.clear();
  for (const double layer : {-1.0, 0.5, 2e9}) {
    keys.layers = {layer};
    EXPECT_REGARD_ERROR(lora_config(keys, ""), ErrorKind::usage,
                        "'lora.layers' has a value that is not a whole");
  }
}

Json new_config(const char* family, const TransformerConfig& sizes, const SpecialIds& special) {
  return find_new_family(family)->config({sizes, 30, special, 16});
}

// Sizes that are 0 or negative in the run file stand for other sizes.
TEST(NewFamilyConfigs, HaveTheDefaultsOfTheRunFile) {
  TransformerConfig sizes;
  sizes.hidden_size = 12, sizes.heads = 3, sizes.dropout = 0.25, sizes.layers = 2;
  const SpecialIds none, all{.pad = 4, .begin = 1, .end = 2, .decoder_start = 1};
  Json llama = new_config("llama", sizes, none);
  EXPECT_EQ(llama["num_key_value_heads"], 3);
  EXPECT_EQ(llama["attention_dropout"], 0.0);
  EXPECT_EQ(llama["max_position_embeddings"], 16);
  EXPECT_FALSE(llama.contains("head_dim"));
  EXPECT_TRUE(llama["pad_token_id"].is_null() && llama["eos_token_id"].is_null());
  EXPECT_EQ(new_config("t5", sizes, all)["d_kv"], 4);
  EXPECT_EQ(new_config("bert", sizes, none)["attention_probs_dropout_prob"], 0.25);
  EXPECT_TRUE(new_config("bert", sizes, none)["pad_token_id"].is_null());
  EXPECT_EQ(new_config("roberta", sizes, none)["max_position_embeddings"], 17) << "positions from 1";
  EXPECT_EQ(new_config("roberta", sizes, none)["pad_token_id"], 0);
  EXPECT_EQ(new_config("gpt2", sizes, none)["attn_pdrop"], 0.25);
  sizes.kv_heads = 1, sizes.head_size = 8, sizes.max_positions = 40, sizes.attention_dropout = 0.0;
  sizes.tie_embeddings = "none", sizes.activation = "gelu_tanh";
  llama = new_config("llama", sizes, all);
  EXPECT_EQ(llama["num_key_value_heads"], 1);
  EXPECT_EQ(llama["head_dim"], 8);
  EXPECT_EQ(llama["max_position_embeddings"], 40);
  EXPECT_EQ(llama["tie_word_embeddings"], false);
  EXPECT_EQ(llama["pad_token_id"], 4);
  EXPECT_EQ(llama["bos_token_id"], 1);
  EXPECT_EQ(llama["eos_token_id"], 2);
  EXPECT_EQ(new_config("t5", sizes, all)["d_kv"], 8);
  EXPECT_EQ(new_config("bert", sizes, all)["attention_probs_dropout_prob"], 0.0);
  EXPECT_EQ(new_config("bert", sizes, all)["hidden_dropout_prob"], 0.25);
  EXPECT_EQ(new_config("bert", sizes, all)["hidden_act"], "gelu_new") << "the name in transformers";
  EXPECT_EQ(new_config("bert", sizes, all)["pad_token_id"], 4);
  EXPECT_EQ(new_config("roberta", sizes, all)["max_position_embeddings"], 45);
  EXPECT_EQ(new_config("electra", sizes, all)["embedding_size"], 12);
  EXPECT_EQ(new_config("gpt2", sizes, all)["attn_pdrop"], 0.0);
}

TEST(NewFamilyConfigs, OfPicturesAndSoundsHaveTheirSettings) {
  TransformerConfig sizes;
  sizes.hidden_size = 12, sizes.heads = 3, sizes.layers = 1, sizes.encoder_layers = 2,
  sizes.decoder_layers = 3;
  ImageConfig images;
  images.size = 8, images.patch_size = 4;
  SoundConfig sound;
  sound.seconds = 2, sound.bins = 24, sound.patch_size = 16, sound.patch_stride = 10, sound.channels = 5;
  const SpecialIds special{.pad = 4, .begin = 1, .end = 2, .decoder_start = 1};
  const auto config = [&](const char* family) {
    return find_new_family(family)->config({sizes, 30, special, 16, &images, &sound});
  };
  for (const char* family : {"vit", "deit"}) {
    EXPECT_EQ(config(family)["model_type"], family);
    EXPECT_EQ(config(family)["image_size"], 8);
    EXPECT_EQ(config(family)["patch_size"], 4);
    EXPECT_EQ(config(family)["num_hidden_layers"], 1);
  }
  const Json captions = config("vision-encoder-decoder");
  EXPECT_EQ(captions["encoder"]["num_hidden_layers"], 2);
  EXPECT_EQ(captions["decoder"]["n_layer"], 3);
  EXPECT_EQ(captions["decoder"]["n_positions"], 16);
  EXPECT_EQ(captions["decoder_start_token_id"], 1);
  const Json ast = config("audio-spectrogram-transformer");
  EXPECT_EQ(ast["max_length"], 200) << "100 frames per second";
  EXPECT_EQ(ast["num_mel_bins"], 24);
  EXPECT_EQ(ast["time_stride"], 10);
  EXPECT_EQ(config("whisper")["max_source_positions"], 100);
  EXPECT_EQ(config("whisper")["max_target_positions"], 16);
  EXPECT_EQ(config("wav2vec2")["conv_dim"], Json(std::vector<int>(7, 5)));
  EXPECT_EQ(config("wav2vec2")["vocab_size"], 30);
  const Json clip = config("clip");
  EXPECT_EQ(clip["text_config"]["max_position_embeddings"], 16);
  EXPECT_EQ(clip["text_config"]["eos_token_id"], 2);
  EXPECT_EQ(clip["vision_config"]["image_size"], 8);
  sizes.max_positions = 40;
  EXPECT_EQ(config("clip")["text_config"]["max_position_embeddings"], 40);
  EXPECT_EQ(config("whisper")["max_target_positions"], 40);
}

}  // namespace
}  // namespace regard::train
