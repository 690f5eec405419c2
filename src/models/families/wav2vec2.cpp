// wav2vec 2.0 (Baevski et al. 2020), as in transformers' modeling_wav2vec2.py: convolutions over the samples,
// positions from a grouped convolution, an encoder, and a head for CTC or for audio classification.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

// Maximum sizes, chosen so that products of sizes fit into 64 bits.
constexpr std::int64_t kMostChannels = std::int64_t{1} << 20;
constexpr std::int64_t kLongestKernel = std::int64_t{1} << 16;
constexpr std::int64_t kMostSamplesPerFrame = std::int64_t{1} << 24;

// Return the list `key`, which must have `count` numbers from 1 to `most`.
std::vector<std::int64_t> layer_sizes(const ConfigReader& config, const char* key, std::size_t count,
                                      std::int64_t most) {
  const auto all = require<std::vector<std::int64_t>>(config.json(), key, config.file());
  if (all.size() != count) throw config.wrong(key, std::to_string(count) + " numbers, one per layer");
  for (const std::int64_t size : all)
    if (size < 1 || size > most) throw config.wrong(key, "numbers from 1 to " + std::to_string(most));
  return all;
}

// Throw bad_file, naming `key`, if the product of the strides is too large.
void check_strides(const ConfigReader& config, const char* key, const std::vector<std::int64_t>& strides) {
  std::int64_t samples_per_frame = 1;
  for (const std::int64_t stride : strides)
    if ((samples_per_frame *= stride) > kMostSamplesPerFrame) throw config.wrong(key, "smaller strides");
}

std::vector<nn::ConvolutionConfig> feature_layers(const ConfigReader& config, const std::string& prefix) {
  using Norm = nn::ConvolutionConfig::Norm;
  const std::string kind = config.word("feat_extract_norm", "group");
  if (kind != "group" && kind != "layer") throw config.wrong("feat_extract_norm", "group or layer");
  const auto count = static_cast<std::size_t>(config.layers("num_feat_extract_layers"));
  const auto channels = layer_sizes(config, "conv_dim", count, kMostChannels);
  const auto kernels = layer_sizes(config, "conv_kernel", count, kLongestKernel);
  const auto strides = layer_sizes(config, "conv_stride", count, kLongestKernel);
  check_strides(config, "conv_stride", strides);
  std::vector<nn::ConvolutionConfig> layers;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = prefix + "feature_extractor.conv_layers." + std::to_string(i) + ".";
    nn::ConvolutionConfig layer;
    layer.name = name + "conv", layer.norm_name = name + "layer_norm";
    layer.out = channels[i];
    layer.window = {kernels[i], strides[i], 0, 0};
    layer.bias = config.flag("conv_bias", false);
    layer.norm = kind == "layer" ? Norm::layer : i == 0 ? Norm::group : Norm::none;
    layer.activation = config.activation("feat_extract_activation", "gelu");
    layers.push_back(layer);
  }
  return layers;
}

nn::ConvolutionConfig position_layer(const ConfigReader& config, const std::string& prefix,
                                     std::int64_t hidden) {
  const std::int64_t kernel = config.size("num_conv_pos_embeddings", 128);
  nn::ConvolutionConfig layer;
  layer.name = prefix + "encoder.pos_conv_embed.conv";
  layer.out = hidden;
  // padding that keeps the number of frames unchanged
  layer.window = {kernel, 1, kernel / 2, (kernel - 1) / 2};
  layer.groups = config.has("num_conv_pos_embedding_groups")
                     ? config.divisor("num_conv_pos_embedding_groups", hidden, "hidden_size")
                     : 16;
  if (hidden % layer.groups != 0)
    throw config.wrong("num_conv_pos_embedding_groups", "a divisor of hidden_size");
  if (kernel > kLongestKernel || hidden > kMostChannels)
    throw config.wrong("num_conv_pos_embeddings", "a shorter kernel, or a smaller hidden_size");
  layer.weight_norm = true;
  layer.activation = config.activation("feat_extract_activation", "gelu");
  return layer;
}

nn::BlockConfig wav2vec2_block(const ConfigReader& config, std::int64_t hidden, bool stable) {
  nn::BlockConfig block;
  block.self.hidden = hidden;
  block.self.heads = config.divisor("num_attention_heads", hidden, "hidden_size");
  block.self.dropout = config.rate("attention_dropout", 0.1f);
  block.self.query = "attention.q_proj", block.self.key = "attention.k_proj";
  block.self.value = "attention.v_proj", block.self.output = "attention.out_proj";
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = hidden, feed_forward.inner = config.size("intermediate_size");
  feed_forward.activation = config.activation("hidden_act", "gelu");
  feed_forward.dropout = config.rate("activation_dropout", 0.1f);
  feed_forward.up = "feed_forward.intermediate_dense", feed_forward.down = "feed_forward.output_dense";
  block.norm.epsilon = config.epsilon("layer_norm_eps", 1e-5);
  (stable ? block.self_norm.before : block.self_norm.after) = "layer_norm";
  (stable ? block.feed_forward_norm.before : block.feed_forward_norm.after) = "final_layer_norm";
  block.dropout = config.rate("hidden_dropout", 0.1f);
  // Adapter layers of MMS (Pratap et al. 2023). transformers reads adapter_attn_dim only with
  // do_stable_layer_norm.
  if (stable && config.has("adapter_attn_dim")) {
    nn::FeedForwardConfig& adapter = block.adapter.emplace();
    adapter.hidden = hidden, adapter.inner = config.size("adapter_attn_dim");
    adapter.up = "adapter_layer.linear_1", adapter.down = "adapter_layer.linear_2";
    block.adapter_norm.before = "adapter_layer.norm";
  }
  initialise_normal(block, config.number("initializer_range", 0.02, 0.0, 1.0));
  return block;
}

StackConfig wav2vec2_encoder(const ConfigReader& config, const std::string& prefix, std::int64_t hidden) {
  const bool stable = config.flag("do_stable_layer_norm", false);
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "encoder.layers.";
  stack.layers = config.layers("num_hidden_layers");
  stack.block = wav2vec2_block(config, hidden, stable);
  FrontConfig front;
  front.input_name = "input_values";
  front.layers = feature_layers(config, prefix);
  front.projection_norm = prefix + "feature_projection.layer_norm";
  front.projection = prefix + "feature_projection.projection";
  front.projection_dropout = config.rate("feat_proj_dropout", 0.0f);
  front.position_layer = position_layer(config, prefix, hidden);
  front.norm_config = stack.norm_config = stack.block.norm;
  (stable ? stack.norm : front.norm) = prefix + "encoder.layer_norm";
  stack.last_state_is_normed = !stable;
  stack.input.front = std::move(front);
  stack.input.dropout = stack.block.dropout;
  return stack;
}

// Layers after the encoder (add_adapter). transformers' _get_feat_extract_output_lengths() counts their
// output frames correctly only for a kernel of 3, so its CTC loss differs or fails for other kernels. Here,
// the loss reads all frames.
nn::ConvolutionAdapterConfig adapter_layers(const ConfigReader& config, const StackConfig& encoder,
                                            const std::string& prefix, std::int64_t hidden) {
  nn::ConvolutionAdapterConfig adapter;
  adapter.out = config.size("output_hidden_size", hidden);
  if (adapter.out > kMostChannels) throw config.wrong("output_hidden_size", "a smaller size");
  if (adapter.out != hidden)
    adapter.projection = prefix + "adapter.proj", adapter.norm = prefix + "adapter.proj_layer_norm";
  adapter.prefix = prefix + "adapter.layers.";
  adapter.layers = config.has("num_adapter_layers") ? config.layers("num_adapter_layers") : 3;
  adapter.window = {config.size("adapter_kernel_size", 3), config.size("adapter_stride", 2), 1, 1};
  if (adapter.window.kernel > kLongestKernel) throw config.wrong("adapter_kernel_size", "a shorter kernel");
  std::vector<std::int64_t> strides;
  for (const nn::ConvolutionConfig& layer : encoder.input.front->layers)
    strides.push_back(layer.window.stride);
  strides.insert(strides.end(), static_cast<std::size_t>(adapter.layers), adapter.window.stride);
  check_strides(config, "adapter_stride", strides);
  return adapter;
}

// Wav2Vec2ForSequenceClassification. transformers projects every frame and then takes the mean; this
// head projects the mean, which gives the same result, because the projection is linear.
HeadConfig sound_classifier(const ConfigReader& config) {
  DenseConfig projector;
  projector.name = "projector", projector.out = config.size("classifier_proj_size", 256);
  HeadConfig head = sequence_classifier(config, {projector}, "classifier");
  head.rows = HeadConfig::Rows::mean;
  head.dropout = 0.0f;
  return head;
}

}  // namespace

Architecture wav2vec2(const ConfigReader& config) {
  const std::string kind =
      architecture_of(config, {"Wav2Vec2ForCTC", "Wav2Vec2ForSequenceClassification", "Wav2Vec2Model"});
  const bool writes = kind == "Wav2Vec2ForCTC", classifies = kind == "Wav2Vec2ForSequenceClassification";
  if (classifies)
    config.only("add_adapter", false,
                "A sequence classifier with add_adapter (an error in transformers too)");
  const std::string prefix = writes || classifies ? "wav2vec2." : "";
  Architecture all;
  all.hidden = config.size("hidden_size");
  all.encoder = wav2vec2_encoder(config, prefix, all.hidden);
  if (config.flag("add_adapter", false))
    all.adapter = adapter_layers(config, *all.encoder, prefix, all.hidden);
  const std::int64_t vocabulary = config.size("vocab_size", 32);
  check_common(config, vocabulary);
  all.names.prefixes = {"wav2vec2."};
  // Files written by PyTorch before version 2.0 contain older names.
  all.names.endings = {{"parametrizations.weight.original0", "weight_g"},
                       {"parametrizations.weight.original1", "weight_v"}};
  // Weights that are used only in pre-training.
  all.names.ignored = {"masked_spec_embed", "quantizer.", "project_q.", "project_hid."};
  if (!writes) all.names.ignored.push_back("lm_head.");
  if (classifies) all.head = sound_classifier(config);
  if (classifies && config.flag("use_weighted_layer_sum", false))
    all.encoder->layer_weights = "layer_weights";
  if (!writes) return all;
  if (const std::string reduction = config.word("ctc_loss_reduction", "sum");
      reduction != "sum" && reduction != "mean")
    throw config.wrong("ctc_loss_reduction", "sum or mean");
  if (config.token("pad_token_id", vocabulary) < 0) throw config.wrong("pad_token_id", "the id of the blank");
  all.encoder->input.vocabulary = vocabulary;
  all.head.output = Output::ctc;
  all.head.projection = "lm_head", all.head.bias = "lm_head.bias", all.head.out = vocabulary;
  all.head.dropout = config.rate("final_dropout", 0.1f);
  return all;
}

}  // namespace regard::models::families
