// Values of config.json at the limits of each family: the last one that is accepted and the first one that is
// refused, with the expected value in the message.
#include <gtest/gtest.h>

#include "base/json.h"
#include "models/network.h"
#include "nn/cache.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

// Make the model of a folder of hf-tiny with a changed config. A null in `patch` removes the key.
std::unique_ptr<Network> changed(const std::string& folder, const char* patch) {
  Json config = read_json(testing::golden("hf-tiny/" + folder + "/config.json").string());
  config.merge_patch(Json::parse(patch));
  return make_model(config, "c.json");
}

// A config that is refused with `expected` in the message, or accepted if `expected` is null.
struct Change {
  const char *folder, *patch, *expected;
};

void check(std::initializer_list<Change> changes) {
  for (const Change& change : changes) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::string(change.folder) + " " + change.patch);
    if (change.expected == nullptr)
      EXPECT_NO_THROW(changed(change.folder, change.patch));
    else
      EXPECT_REGARD_ERROR(changed(change.folder, change.patch), ErrorKind::bad_file, change.expected);
  }
}

TEST(FamilyLimits, Images) {
  constexpr const char* kSides = "one side length, or [height, width]";
  check({{"vit", R"({"image_size": [16, 8]})", nullptr},
         {"vit", R"({"image_size": [16]})", kSides},
         {"vit", R"({"image_size": [16, 0]})", kSides},
         {"vit", R"({"image_size": [16777217, 16]})", kSides},
         {"vit", R"({"patch_size": 16})", nullptr},
         {"vit", R"({"patch_size": 17})", "\"patch_size\" is invalid (expected at most image_size"},
         {"vit", R"({"patch_size": [4, 17]})", "at most image_size"},
         {"vit", R"({"image_size": [4194304, 4], "patch_size": 1})", nullptr},
         {"vit", R"({"image_size": [4194305, 4], "patch_size": 1})", "because there are too many patches"},
         {"vit", R"({"image_size": 4096, "patch_size": 4096, "num_channels": 1})", nullptr},
         {"vit", R"({"image_size": 4096, "patch_size": 4096, "num_channels": 2})", "smaller patches"}});
}

TEST(FamilyLimits, Sounds) {
  check({{"ast", R"({"patch_size": 16})", nullptr},
         {"ast", R"({"patch_size": 17})", "at most max_length and num_mel_bins"},
         {"ast", R"({"max_length": 16, "num_mel_bins": 40, "patch_size": 17})", "at most max_length"},
         {"ast", R"({"max_length": 16777216, "time_stride": 1, "frequency_stride": 1})", "too many patches"},
         {"ast", R"({"max_length": 5000, "num_mel_bins": 5000, "patch_size": 4096})", nullptr},
         {"ast", R"({"max_length": 5000, "num_mel_bins": 5000, "patch_size": 4097})", "smaller patches"},
         {"wav2vec2", R"({"num_conv_pos_embedding_groups": 32})", nullptr},
         {"wav2vec2", R"({"num_conv_pos_embedding_groups": 5})", "a divisor of hidden_size, 32"},
         {"wav2vec2", R"({"num_conv_pos_embedding_groups": null})", nullptr},
         {"wav2vec2", R"({"num_conv_pos_embedding_groups": null, "hidden_size": 24})",
          "\"num_conv_pos_embedding_groups\" is invalid (expected a divisor of hidden_size, found no such "
          "key)"},
         {"wav2vec2", R"({"ctc_loss_reduction": "mean"})", nullptr},
         {"wav2vec2", R"({"ctc_loss_reduction": "none"})", "sum or mean"},
         {"wav2vec2", R"({"pad_token_id": -1})", "the id of the blank"},
         {"wav2vec2", R"({"feat_extract_norm": "batch"})", "group or layer"},
         {"wav2vec2", R"({"conv_stride": [4096, 4096, 1]})", nullptr},
         {"wav2vec2", R"({"conv_stride": [4096, 4096, 2]})", "smaller strides"},
         {"wav2vec2", R"({"num_conv_pos_embeddings": 65536})", nullptr},
         {"wav2vec2", R"({"num_conv_pos_embeddings": 65537})", "a shorter kernel, or a smaller hidden_size"},
         {"wav2vec2", R"({"hidden_size": 1048576})", nullptr},
         {"wav2vec2", R"({"hidden_size": 1048580})", "a shorter kernel, or a smaller hidden_size"}});
  constexpr const char* kModel = "wav2vec2-downsampled";
  check({{kModel, R"({"num_adapter_layers": null, "adapter_stride": null, "output_hidden_size": null})",
          nullptr},
         {kModel, R"({"num_adapter_layers": 0})", "num_adapter_layers"},
         {kModel, R"({"output_hidden_size": 1048576})", nullptr},
         {kModel, R"({"output_hidden_size": 1048577})", "a smaller size"},
         {kModel, R"({"adapter_kernel_size": 65536})", nullptr},
         {kModel, R"({"adapter_kernel_size": 65537})", "a shorter kernel"},
         // 20 samples per state and two layers: 20 · 915 · 915 is less than 2^24, 20 · 916 · 916 is not
         {kModel, R"({"adapter_stride": 915})", nullptr},
         {kModel, R"({"adapter_stride": 916})", "\"adapter_stride\" is invalid (expected smaller strides"},
         {"wav2vec2-weighted", R"({"add_adapter": true})",
          "A sequence classifier with add_adapter (an error in transformers too) is not supported"}});
}

TEST(FamilyLimits, Positions) {
  check({{"t5", R"({"relative_attention_num_buckets": 4, "relative_attention_max_distance": 3})", nullptr},
         {"t5", R"({"relative_attention_num_buckets": 3})", "at least 4"},
         {"t5", R"({"relative_attention_num_buckets": 4, "relative_attention_max_distance": 2})",
          "more than 2"},
         {"t5", R"({"relative_attention_max_distance": 17})", nullptr},
         {"t5", R"({"relative_attention_max_distance": 16})", "more than 16"},
         {"t5", R"({"relative_attention_max_distance": 8})", "more than 8"},
         {"roberta", R"({"max_position_embeddings": 3})", nullptr},
         {"roberta", R"({"max_position_embeddings": 2})", "more than pad_token_id + 1, the first position"},
         {"roberta", R"({"pad_token_id": -1})", "a token id, because positions are counted from it"},
         {"llama", R"({"rope_scaling": {"rope_theta": 10000.0, "rope_type": "default"}})", nullptr},
         {"llama", R"({"rope_scaling": {"rope_type": "default"}})", "a value equal to rope_parameters"},
         {"llama", R"({"rope_parameters": {"rope_type": "linear", "factor": 1}})", nullptr},
         {"llama", R"({"rope_parameters": {"rope_type": "linear", "factor": 0.5}})", "at least 1"},
         {"llama", R"({"rope_parameters": {"rope_type": "dynamic"}})", "default, linear, llama3, yarn"},
         {"llama", R"({"rope_parameters": {"rope_theta": 1.0}})", "a number above 1"},
         {"llama", R"({"head_dim": 6})", nullptr},
         {"llama", R"({"head_dim": 7})", "an even number of features"}});
  const std::string llama3 = R"({"rope_parameters": {"rope_type": "llama3", "factor": 8.0, )";
  const std::string length = R"(, "original_max_position_embeddings": 16)";
  const std::string right = R"("low_freq_factor": 1.0, "high_freq_factor": 4.0)";
  check({{"llama", (llama3 + right + length + "}}").c_str(), nullptr},
         {"llama", (llama3 + right + "}}").c_str(), "a number of positions"},
         {"llama", (llama3 + R"("low_freq_factor": 4.0, "high_freq_factor": 4.0)" + length + "}}").c_str(),
          "more than low_freq_factor"},
         {"llama", (llama3 + R"("low_freq_factor": 0.0, "high_freq_factor": 4.0)" + length + "}}").c_str(),
          "a number above 0"}});
}

TEST(FamilyLimits, TwoStacks) {
  check({{"marian", R"({"decoder_vocab_size": 113})", "because encoder and decoder share one table"},
         {"marian", R"({"decoder_vocab_size": 113, "share_encoder_decoder_embeddings": false})", nullptr},
         {"marian", R"({"decoder_start_token_id": null})", "the id of the first decoder token"},
         {"vit-gpt2", R"({"decoder": "gpt2"})",
          "\"decoder\" is invalid (expected the configuration of a model, as an object, found the string"},
         {"vit-gpt2", R"({"encoder": null})", "found no such key"},
         {"vit-gpt2", R"({"encoder": {"model_type": "bert"}})", "c.json: encoder: "},
         {"vit-gpt2", R"({"encoder": {"model_type": "bert"}})", "vit or deit"},
         {"vit-gpt2", R"({"decoder": {"model_type": "bert"}})", "gpt2, bart, mbart or trocr"},
         {"vit-gpt2", R"({"decoder": {"add_cross_attention": false}})", "\"add_cross_attention\" is invalid"},
         {"vit-gpt2", R"({"decoder": {"cross_attention_hidden_size": 32}})", nullptr},
         {"vit-gpt2", R"({"decoder": {"cross_attention_hidden_size": 16}})", "the encoder's hidden_size, 32"},
         {"vit-gpt2", R"({"decoder": {"cross_attention_hidden_size": 32, "n_embd": 16}})",
          "the key to be absent"},
         {"vit-gpt2", R"({"decoder": {"n_embd": 16}})", nullptr},
         {"vit-trocr", R"({"decoder": {"cross_attention_hidden_size": 24}})",
          "the encoder's hidden_size, 32"}});
}

// The cache may release keys behind the widest window only if every layer has a window.
TEST(FamilyLimits, WindowsOfLayers) {
  const auto window = [](const char* patch) { return changed("qwen2", patch)->cache_shape().window; };
  EXPECT_EQ(window(R"({})"), 0);
  EXPECT_EQ(window(R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 0})"), 8);
  EXPECT_EQ(window(R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 1})"), 0);
  EXPECT_EQ(window(R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": null})"), 0);
  EXPECT_EQ(window(R"({"use_sliding_window": false, "sliding_window": 8, "max_window_layers": 0})"), 0);
  EXPECT_EQ(window(R"({"use_sliding_window": true, "sliding_window": 8,
                       "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention"]})"),
            8);
  EXPECT_EQ(window(R"({"use_sliding_window": true, "sliding_window": 8,
                       "layer_types": ["sliding_attention", "sliding_attention", "full_attention"]})"),
            0);
  constexpr const char* kTypes = "full_attention, or sliding_attention with use_sliding_window";
  check({{"qwen2", R"({"layer_types": ["full_attention", "full_attention", "full_attention"]})", nullptr},
         {"qwen2", R"({"layer_types": ["full_attention"]})", "one type for each of 3 layers"},
         {"qwen2", R"({"layer_types": ["full_attention", "full_attention", "sliding_attention"]})", kTypes},
         {"qwen2", R"({"layer_types": ["full_attention", "full_attention", "half_attention"]})", kTypes}});
}

}  // namespace
}  // namespace regard::testing
