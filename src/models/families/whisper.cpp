// Whisper (Radford et al. 2022), as in transformers' modeling_whisper.py: a pre-norm encoder–decoder over
// log-mel features. Two convolutions halve the number of frames.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

nn::AttentionConfig whisper_attention(const ConfigReader& config, const std::string& side, const char* name) {
  nn::AttentionConfig attention;
  attention.hidden = config.size("d_model");
  attention.heads = config.divisor(side + "_attention_heads", attention.hidden, "d_model");
  attention.dropout = config.rate("attention_dropout", 0.0f);
  attention.key_bias = false;
  const std::string prefix = std::string(name) + ".";
  attention.query = prefix + "q_proj", attention.key = prefix + "k_proj";
  attention.value = prefix + "v_proj", attention.output = prefix + "out_proj";
  return attention;
}

StackConfig whisper_stack(const ConfigReader& config, const std::string& prefix, const std::string& side) {
  StackConfig stack;
  stack.point = side;
  stack.prefix = prefix + side + ".layers.";
  stack.layers = config.layers(side + "_layers");
  nn::BlockConfig& block = stack.block;
  block.self = whisper_attention(config, side, "self_attn");
  block.self_norm.before = "self_attn_layer_norm";
  if (side == "decoder") {
    block.self.causal = block.has_cross = true;
    block.cross = whisper_attention(config, side, "encoder_attn");
    block.cross.cross = true;
    block.cross_norm.before = "encoder_attn_layer_norm";
  }
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = block.self.hidden, feed_forward.inner = config.size(side + "_ffn_dim");
  feed_forward.activation = config.activation("activation_function", "gelu");
  feed_forward.dropout = config.rate("activation_dropout", 0.0f);
  feed_forward.up = "fc1", feed_forward.down = "fc2";
  block.feed_forward_norm.before = "final_layer_norm";
  block.dropout = config.rate("dropout", 0.0f);
  initialise_normal(block, config.number("init_std", 0.02, 0.0, 1.0));
  stack.norm = prefix + side + ".layer_norm", stack.norm_config = block.norm;
  stack.input.dropout = block.dropout;
  return stack;
}

FrontConfig whisper_front(const ConfigReader& config, const std::string& prefix) {
  FrontConfig front;
  front.frames = 2 * config.size("max_source_positions", 1500);
  front.bins = config.size("num_mel_bins", 80);
  front.bins_first = true;
  for (const std::int64_t stride : {1, 2}) {
    nn::ConvolutionConfig layer;
    layer.name = prefix + "encoder.conv" + std::to_string(stride);
    layer.out = config.size("d_model");
    layer.window = {3, stride, 1, 1};
    front.layers.push_back(layer);
  }
  front.positions = prefix + "encoder.embed_positions";
  return front;
}

}  // namespace

Architecture whisper(const ConfigReader& config) {
  const bool has_head = architecture_of(config, {"WhisperForConditionalGeneration", "WhisperModel"}) ==
                        "WhisperForConditionalGeneration";
  const std::string prefix = has_head ? "model." : "";
  Architecture all;
  all.hidden = config.size("d_model");
  all.max_positions = config.size("max_target_positions", 448);
  all.encoder = whisper_stack(config, prefix, "encoder");
  all.encoder->input.front = whisper_front(config, prefix);
  all.decoder = whisper_stack(config, prefix, "decoder");
  InputEmbeddingConfig& input = all.decoder->input;
  input.tokens = prefix + "decoder.embed_tokens";
  input.vocabulary = config.size("vocab_size");
  input.padding = config.padding(input.vocabulary, 50256);
  input.positions = prefix + "decoder.embed_positions", input.position_rows = all.max_positions;
  check_common(config, input.vocabulary);
  all.names.prefixes = {"model."};
  all.names.constants = {all.encoder->input.front->positions + ".weight"};
  if (!has_head) {
    all.names.ignored = {"proj_out.weight"};
    return all;
  }
  const bool tied = config.flag("tie_word_embeddings", true);
  all.head.output = Output::next_token;
  all.head.projection = tied ? input.tokens : "proj_out";
  all.head.out = input.vocabulary;
  if (tied) all.names.copies = {{input.tokens + ".weight", "proj_out.weight"}};
  return all;
}

}  // namespace regard::models::families
