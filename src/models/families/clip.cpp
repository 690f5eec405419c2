// CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023), as in transformers' modeling_clip.py and
// modeling_siglip.py: two pre-norm encoders, one for texts and one for image patches.
#include <utility>

#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

// Return the object `name` of a configuration, with missing keys from `defaults`. Older configurations of
// CLIP may also contain the object under `name` with the suffix "_dict", which then replaces `name`.
Json part_of(const ConfigReader& config, std::string name, Json defaults) {
  if (config.has(name + "_dict")) name += "_dict";
  const auto found = config.json().find(name);
  if (found == config.json().end() || found->is_null()) return defaults;
  if (!found->is_object()) throw config.wrong(name, "an object");
  for (const auto& [key, value] : found->items())
    if (!value.is_null()) defaults[key] = value;
  return defaults;
}

Json clip_text_defaults() {
  return {{"vocab_size", 49408},        {"hidden_size", 512},       {"intermediate_size", 2048},
          {"num_hidden_layers", 12},    {"num_attention_heads", 8}, {"max_position_embeddings", 77},
          {"hidden_act", "quick_gelu"}, {"layer_norm_eps", 1e-5},   {"pad_token_id", 1},
          {"bos_token_id", 49406},      {"eos_token_id", 49407}};
}

Json clip_vision_defaults() {
  return {{"hidden_size", 768},        {"intermediate_size", 3072},  {"num_hidden_layers", 12},
          {"num_attention_heads", 12}, {"image_size", 224},          {"patch_size", 32},
          {"num_channels", 3},         {"hidden_act", "quick_gelu"}, {"layer_norm_eps", 1e-5}};
}

Json siglip_text_defaults() {
  return {{"vocab_size", 32000},     {"hidden_size", 768},        {"intermediate_size", 3072},
          {"num_hidden_layers", 12}, {"num_attention_heads", 12}, {"max_position_embeddings", 64},
          {"layer_norm_eps", 1e-6},  {"pad_token_id", 1},         {"hidden_act", "gelu_pytorch_tanh"}};
}

Json siglip_vision_defaults() {
  return {{"hidden_size", 768},        {"intermediate_size", 3072}, {"num_hidden_layers", 12},
          {"num_attention_heads", 12}, {"image_size", 224},         {"patch_size", 16},
          {"num_channels", 3},         {"layer_norm_eps", 1e-6},    {"hidden_act", "gelu_pytorch_tanh"}};
}

nn::BlockConfig tower_block(const ConfigReader& config, bool causal) {
  nn::BlockConfig block;
  nn::AttentionConfig& self = block.self;
  self.hidden = config.size("hidden_size");
  self.heads = config.divisor("num_attention_heads", self.hidden, "hidden_size");
  self.causal = causal;
  self.dropout = config.rate("attention_dropout", 0.0f);
  self.query = "self_attn.q_proj", self.key = "self_attn.k_proj";
  self.value = "self_attn.v_proj", self.output = "self_attn.out_proj";
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = self.hidden, feed_forward.inner = config.size("intermediate_size");
  feed_forward.activation = config.activation("hidden_act", "quick_gelu");
  feed_forward.up = "mlp.fc1", feed_forward.down = "mlp.fc2";
  block.norm = {false, true, config.epsilon("layer_norm_eps", 1e-5), 0.0};
  block.self_norm.before = "layer_norm1", block.feed_forward_norm.before = "layer_norm2";
  initialise_normal(block, config.number("initializer_range", 0.02, 0.0, 1.0));
  return block;
}

StackConfig tower_stack(const ConfigReader& config, const std::string& prefix, bool causal) {
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "encoder.layers.";
  stack.layers = config.layers("num_hidden_layers");
  stack.block = tower_block(config, causal);
  stack.last_state_is_normed = false;
  return stack;
}

Architecture text_encoder(const ConfigReader& config, bool causal) {
  const std::string prefix = "text_model.";
  Architecture all;
  StackConfig stack = tower_stack(config, prefix, causal);
  all.hidden = stack.block.self.hidden;
  stack.norm = prefix + "final_layer_norm", stack.norm_config = stack.block.norm;
  stack.input.tokens = prefix + "embeddings.token_embedding";
  stack.input.vocabulary = config.size("vocab_size");
  stack.input.positions = prefix + "embeddings.position_embedding";
  stack.input.position_rows = all.max_positions = config.size("max_position_embeddings");
  all.head.output = Output::pooled;
  all.encoder = std::move(stack);
  return all;
}

Architecture image_encoder(const ConfigReader& config) {
  const std::string prefix = "vision_model.";
  Architecture all;
  StackConfig stack = tower_stack(config, prefix, false);
  all.hidden = stack.block.self.hidden;
  PatchConfig patches = patch_grid(config);
  patches.flat = true;
  patches.projection = prefix + "embeddings.patch_embedding";
  patches.positions = prefix + "embeddings.position_embedding.weight";
  stack.input.patches = std::move(patches);
  all.head.output = Output::pooled;
  all.encoder = std::move(stack);
  return all;
}

void project(Architecture& tower, const std::string& name, std::int64_t size, bool bias) {
  tower.head.projection = name;
  tower.head.out = size;
  if (bias) tower.head.bias = name + ".bias";
}

// Check the configurations of the model and of its text encoder. Return the settings that CLIP and SigLIP
// have in common.
DualEncoderConfig dual_encoder(const ConfigReader& config, const ConfigReader& text) {
  check_common(config, kLargestSize);
  DualEncoderConfig all;
  all.config = config.json();
  all.scale = "logit_scale";
  all.names.ignored = {".embeddings.position_ids"};
  if (text.has("dtype")) check_common(text, kLargestSize);
  return all;
}

struct Encoders {
  Json text_keys, vision_keys;
  ConfigReader text, vision;
  Encoders(const ConfigReader& config, const Json& text_defaults, const Json& vision_defaults)
      : text_keys(part_of(config, "text_config", text_defaults)),
        vision_keys(part_of(config, "vision_config", vision_defaults)),
        text(text_keys, config.file() + ": text_config"),
        vision(vision_keys, config.file() + ": vision_config") {}
};

}  // namespace

DualEncoderConfig clip(const ConfigReader& config) {
  architecture_of(config, {"CLIPModel"});
  const Encoders encoders(config, clip_text_defaults(), clip_vision_defaults());
  const ConfigReader &text = encoders.text, &vision = encoders.vision;
  DualEncoderConfig all = dual_encoder(config, text);
  all.size = config.size("projection_dim", 512);
  all.text = text_encoder(text, true);
  all.vision = image_encoder(vision);
  PatchConfig& patches = *all.vision.encoder->input.patches;
  patches.bias = false;
  patches.specials = {"vision_model.embeddings.class_embedding"};
  all.vision.encoder->input.norm = "vision_model.pre_layrnorm";
  all.vision.encoder->input.norm_config = all.vision.encoder->block.norm;
  all.vision.head.rows = HeadConfig::Rows::first;
  all.vision.head.norm = "vision_model.post_layernorm";
  all.vision.head.norm_config = all.vision.encoder->block.norm;
  project(all.text, "text_projection", all.size, false);
  project(all.vision, "visual_projection", all.size, false);
  // Older configurations state the id 2 for the end token, although the end token actually has the largest id
  // of the vocabulary.
  const std::int64_t end = text.token("eos_token_id", kLargestSize);
  all.text_row = end == 2 ? TextRow::largest_id : TextRow::first_end;
  all.end_token = static_cast<std::int32_t>(end);
  all.initial_scale = config.number("logit_scale_init_value", 2.6592, -100.0, 100.0);
  return all;
}

DualEncoderConfig siglip(const ConfigReader& config) {
  architecture_of(config, {"SiglipModel"});
  const Encoders encoders(config, siglip_text_defaults(), siglip_vision_defaults());
  const ConfigReader &text = encoders.text, &vision = encoders.vision;
  DualEncoderConfig all = dual_encoder(config, text);
  vision.only("vision_use_head", true, "SigLIP without its pooling head");
  all.text = text_encoder(text, false);
  all.vision = image_encoder(vision);
  StackConfig& images = *all.vision.encoder;
  images.norm = "vision_model.post_layernorm", images.norm_config = images.block.norm;
  all.size = text.size("projection_size", all.text.hidden);
  if (all.size != all.vision.hidden)
    throw text.wrong("projection_size",
                     "the hidden_size of the image encoder, " + std::to_string(all.vision.hidden));
  project(all.text, "text_model.head", all.size, true);
  AttentionPoolingConfig pooling;
  pooling.prefix = "vision_model.head.";
  pooling.hidden = all.vision.hidden, pooling.heads = images.block.self.heads;
  pooling.inner = images.block.feed_forward.inner;
  pooling.activation = images.block.feed_forward.activation;
  pooling.norm = images.block.norm;
  all.vision.pooling = pooling;
  all.vision.head = HeadConfig();
  all.text_row = TextRow::last;
  all.text_length = all.text.max_positions;
  all.padding = static_cast<std::int32_t>(text.token("pad_token_id", all.text.encoder->input.vocabulary));
  all.bias = "logit_bias";
  all.scale_shape = {1};
  all.sigmoid = true;
  // Initial values of scale and bias in the paper on SigLIP: t' = log 10, b = −10.
  all.initial_scale = 2.302585092994046, all.initial_bias = -10.0;
  return all;
}

}  // namespace regard::models::families
