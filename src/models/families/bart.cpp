// BART (Lewis et al. 2020), Marian (Junczys-Dowmunt et al. 2018), Pegasus (Zhang et al. 2020) and Blenderbot
// (Roller et al. 2021), as in transformers' modeling_bart.py, modeling_marian.py, modeling_pegasus.py and
// modeling_blenderbot.py. These encoder–decoders differ in positions, pre- or post-norm, the norm after the
// embeddings, and tying of embedding tables.
#include <cmath>

#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

// Settings in which BART, Marian, Pegasus and Blenderbot differ.
struct BartLike {
  bool learned_positions = true;    // learned position embeddings; false means sinusoids
  std::int64_t first_position = 2;  // row of position 0 in the position table
  bool embedding_norm = true;
  bool pre_norm = false;
  bool shared_tables = true;  // encoder and decoder share one token table
  nn::SinusoidLayout sinusoids = nn::SinusoidLayout::halves;
  std::int64_t source_vocabulary = 0, target_vocabulary = 0;
  std::int64_t padding = 1;  // default value of pad_token_id
};

nn::AttentionConfig attention_of(const ConfigReader& config, const std::string& side, const char* name) {
  nn::AttentionConfig attention;
  attention.hidden = config.size("d_model");
  attention.heads = config.divisor(side + "_attention_heads", attention.hidden, "d_model");
  attention.dropout = config.rate("attention_dropout", 0.0f);
  const std::string prefix = std::string(name) + ".";
  attention.query = prefix + "q_proj", attention.key = prefix + "k_proj";
  attention.value = prefix + "v_proj", attention.output = prefix + "out_proj";
  return attention;
}

nn::BlockConfig block_of(const ConfigReader& config, const BartLike& what, const std::string& side) {
  const auto norm_at = [&](const char* name) {
    return what.pre_norm ? nn::NormNames{name, "", ""} : nn::NormNames{"", "", name};
  };
  nn::BlockConfig block;
  block.self = attention_of(config, side, "self_attn");
  block.self_norm = norm_at("self_attn_layer_norm");
  if (side == "decoder") {
    block.self.causal = block.has_cross = true;
    block.cross = attention_of(config, side, "encoder_attn");
    block.cross.cross = true;
    block.cross_norm = norm_at("encoder_attn_layer_norm");
  }
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = block.self.hidden, feed_forward.inner = config.size(side + "_ffn_dim");
  feed_forward.activation = config.activation("activation_function", "gelu");
  feed_forward.dropout = config.rate("activation_dropout", 0.0f);
  feed_forward.up = "fc1", feed_forward.down = "fc2";
  block.feed_forward_norm = norm_at("final_layer_norm");
  block.dropout = config.rate("dropout", 0.1f);
  initialise_normal(block, config.number("init_std", 0.02, 0.0, 1.0));
  return block;
}

StackConfig stack_of(const ConfigReader& config, const BartLike& what, const std::string& prefix,
                     const std::string& side) {
  StackConfig stack;
  stack.point = side;
  stack.prefix = prefix + side + ".layers.";
  stack.layers = config.layers(side + "_layers");
  stack.block = block_of(config, what, side);
  InputEmbeddingConfig& input = stack.input;
  input.tokens = prefix + (what.shared_tables ? "shared" : side + ".embed_tokens");
  input.vocabulary = side == "decoder" ? what.target_vocabulary : what.source_vocabulary;
  input.padding = config.padding(input.vocabulary, what.padding);
  if (config.flag("scale_embedding", false))
    input.factor = static_cast<float>(std::sqrt(static_cast<double>(stack.block.self.hidden)));
  if (what.learned_positions) {
    input.positions = prefix + side + ".embed_positions";
    input.first_position = what.first_position;
    input.position_rows = config.size("max_position_embeddings") + input.first_position;
  } else {
    input.sinusoids = what.sinusoids;
    if (what.sinusoids == nn::SinusoidLayout::closed_halves) {
      input.first_position = what.first_position;
    } else {
      input.stored_sinusoids = prefix + side + ".embed_positions";
      input.position_rows = config.size("max_position_embeddings");
    }
  }
  if (what.embedding_norm) input.norm = prefix + side + ".layernorm_embedding";
  input.norm_config = stack.block.norm;
  input.dropout = stack.block.dropout;
  if (what.pre_norm) stack.norm = prefix + side + ".layer_norm", stack.norm_config = stack.block.norm;
  return stack;
}

void add_head(Architecture& all, bool tied) {
  const InputEmbeddingConfig& input = all.decoder->input;
  all.head.output = Output::next_token;
  all.head.projection = tied ? input.tokens : "lm_head";
  all.head.out = input.vocabulary;
  all.head.bias = "final_logits_bias", all.head.bias_is_row = true;
  all.names.constants.push_back(all.head.bias);
  if (tied) all.names.copies.push_back({input.tokens + ".weight", "lm_head.weight"});
}

Architecture bart_like(const ConfigReader& config, const BartLike& what, bool has_head) {
  const std::string prefix = has_head ? "model." : "";
  Architecture all;
  all.hidden = config.size("d_model");
  all.max_positions = config.size("max_position_embeddings");
  all.encoder = stack_of(config, what, prefix, "encoder");
  all.decoder = stack_of(config, what, prefix, "decoder");
  check_common(config, what.target_vocabulary);
  all.names.prefixes = {"model."};
  if (all.decoder->input.tokens != prefix + "shared") all.names.ignored.push_back(prefix + "shared.weight");
  if (what.shared_tables)
    for (const char* side : {"encoder", "decoder"})
      all.names.copies.push_back({prefix + "shared.weight", prefix + side + ".embed_tokens.weight"});
  if (!what.learned_positions)
    for (const char* side : {"encoder", "decoder"})
      for (const char* start : {"", "model."})
        all.names.constants.push_back(std::string(start) + side + ".embed_positions.weight");
  // Files converted from fairseq contain its version numbers (encoder.version, decoder.version).
  all.names.ignored.insert(all.names.ignored.end(), {"encoder.version", "decoder.version"});
  if (has_head) {
    add_head(all, config.flag("tie_word_embeddings", true));
  } else {
    all.names.ignored.insert(all.names.ignored.end(), {"lm_head.weight", "final_logits_bias"});
  }
  return all;
}

}  // namespace

StackConfig bart_decoder(const ConfigReader& config, const std::string& prefix) {
  const std::string type = config.word("model_type", "");
  BartLike what;
  what.shared_tables = false;
  what.pre_norm = type == "mbart";
  what.learned_positions = type != "trocr" || config.flag("use_learned_position_embeddings", true);
  if (!what.learned_positions) {  // sinusoids: position 0 uses row pad_token_id + 1
    what.sinusoids = nn::SinusoidLayout::closed_halves;
    what.first_position = config.padding(config.size("vocab_size"), what.padding) + 1;
  }
  what.embedding_norm = config.flag("layernorm_embedding", true);
  what.target_vocabulary = config.size("vocab_size");
  return stack_of(config, what, prefix, "decoder");
}

Architecture bart(const ConfigReader& config) {
  const std::string kind = architecture_of(config, {"BartForConditionalGeneration", "BartModel"});
  config.only("normalize_before", false, "BART with pre-norm layers");
  config.only("add_final_layer_norm", false, "A norm after the last layer");
  config.only("normalize_embedding", true, "BART without a norm after the embeddings");
  BartLike what;
  what.shared_tables = config.flag("tie_word_embeddings", true);
  what.source_vocabulary = what.target_vocabulary = config.size("vocab_size");
  return bart_like(config, what, kind == "BartForConditionalGeneration");
}

Architecture marian(const ConfigReader& config) {
  const std::string kind = architecture_of(config, {"MarianMTModel", "MarianModel"});
  config.only("normalize_before", false, "Marian with pre-norm layers");
  config.only("add_final_layer_norm", false, "A norm after the last layer");
  config.only("normalize_embedding", false, "Marian with a norm after the embeddings");
  config.only("static_position_embeddings", true, "Marian with learned positions");
  BartLike what;
  what.learned_positions = what.embedding_norm = false;
  what.padding = 58100;
  // transformers uses one table for encoder, decoder and output projection only if both flags are set. If
  // only tie_word_embeddings is set, the decoder's table and the output projection are tied.
  what.shared_tables =
      config.flag("share_encoder_decoder_embeddings", true) && config.flag("tie_word_embeddings", true);
  what.source_vocabulary = config.size("vocab_size");
  what.target_vocabulary = config.size("decoder_vocab_size", what.source_vocabulary);
  if (what.shared_tables && what.source_vocabulary != what.target_vocabulary)
    throw config.wrong("decoder_vocab_size",
                       "the value of vocab_size, because encoder and decoder share one table");
  if (!config.has("decoder_start_token_id"))
    throw config.wrong("decoder_start_token_id", "the id of the first decoder token");
  return bart_like(config, what, kind == "MarianMTModel");
}

Architecture pegasus(const ConfigReader& config) {
  const std::string kind = architecture_of(config, {"PegasusForConditionalGeneration", "PegasusModel"});
  BartLike what;
  what.learned_positions = what.embedding_norm = false;
  what.pre_norm = true;
  what.padding = 0;
  what.shared_tables = config.flag("tie_word_embeddings", true);
  what.source_vocabulary = what.target_vocabulary = config.size("vocab_size");
  return bart_like(config, what, kind == "PegasusForConditionalGeneration");
}

Architecture blenderbot(const ConfigReader& config) {
  const std::string kind = architecture_of(config, {"BlenderbotForConditionalGeneration", "BlenderbotModel"});
  BartLike what;
  what.first_position = 0;
  what.embedding_norm = false;
  what.pre_norm = true;
  what.padding = 0;
  what.shared_tables = config.flag("tie_word_embeddings", true);
  what.source_vocabulary = what.target_vocabulary = config.size("vocab_size");
  return bart_like(config, what, kind == "BlenderbotForConditionalGeneration");
}

}  // namespace regard::models::families
