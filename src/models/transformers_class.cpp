#include "models/transformers_class.h"

#include <string>

#include "base/json.h"
#include "regard/error.h"

namespace regard::models {
namespace {

// Maximum lengths, in tokens, for models without a limit. transformers computes sinusoids for all positions
// when it loads a model; rotary positions have no table, so their limit is larger.
constexpr std::int64_t kTablePositions = 1024, kRotaryPositions = 32768;
// default epsilon of PyTorch's layer norm, used by the encoder–decoder classes
constexpr double kLayerNormEpsilon = 1e-5;

[[noreturn]] void refuse(const char* key, const std::string& found, const std::string& expected) {
  throw usage_error(std::string("no class of the transformers library supports '") + key + "' of this run")
      .found(found)
      .expected(expected)
      .remedy("Use the run folder with the commands of regard");
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

// Heads smaller than hidden_size / heads are padded with zeros. Larger heads cannot be converted.
void check_head_size(const TransformerConfig& config) {
  if (config.hidden_size % config.heads != 0)
    refuse("model.heads", std::to_string(config.heads),
           "a divisor of hidden_size " + std::to_string(config.hidden_size));
  if (config.head_size > config.hidden_size / config.heads)
    refuse("model.head_size", std::to_string(config.head_size),
           "at most hidden_size / heads, " + std::to_string(config.hidden_size / config.heads));
}

TransformersClass encoder_decoder(const TransformerConfig& config) {
  if (config.norm_kind != "layer") refuse("model.norm_kind", quoted(config.norm_kind), "\"layer\"");
  if (config.gated) refuse("model.gated", "true", "false");
  if (config.norm_epsilon != kLayerNormEpsilon)
    refuse("model.norm_epsilon", Json(config.norm_epsilon).dump(), Json(kLayerNormEpsilon).dump());
  check_head_size(config);
  if (config.norm == "post") {
    if (config.positions != "sinusoidal")
      refuse("model.positions", quoted(config.positions),
             "\"sinusoidal\" with model.norm = \"post\" (MarianMTModel); \"learned\" or \"none\" with "
             "model.norm = \"pre\"");
    return TransformersClass::marian;
  }
  if (config.positions == "rotary")
    refuse("model.positions", quoted(config.positions), "\"sinusoidal\", \"learned\" or \"none\"");
  if (config.source_vocabulary > 0)
    refuse("tokenizer.joint", "false: two vocabularies",
           "true with model.norm = \"pre\"; two vocabularies need model.norm = \"post\" and sinusoidal "
           "positions (MarianMTModel)");
  return config.positions == "sinusoidal" ? TransformersClass::pegasus : TransformersClass::blenderbot;
}

TransformersClass decoder(const TransformerConfig& config) {
  if (config.norm != "pre") refuse("model.norm", quoted(config.norm), "\"pre\"");
  const bool rotary = config.positions == "rotary";
  if (rotary && config.norm_kind != "rms")
    refuse("model.norm_kind", quoted(config.norm_kind),
           "\"rms\" with model.positions = \"rotary\" (LlamaForCausalLM); \"layer\" with other positions");
  if (rotary) return TransformersClass::llama;
  if (config.norm_kind != "layer")
    refuse("model.norm_kind", quoted(config.norm_kind),
           "\"layer\" with model.positions other than \"rotary\" (GPT2LMHeadModel); \"rms\" with rotary "
           "positions");
  if (config.gated)
    refuse("model.gated", "true",
           "false (GPT2LMHeadModel); true needs model.norm_kind = \"rms\" and rotary positions");
  check_head_size(config);
  return TransformersClass::gpt2;
}

// Return the activation's name in transformers/activations.py.
std::string activation_name(const std::string& ours) {
  return ours == "gelu_tanh" ? "gelu_pytorch_tanh" : ours;
}

double rate(double own, double fallback) {
  return own < 0.0 ? fallback : own;
}

Json id(std::int64_t token) {
  return token < 0 ? Json(nullptr) : Json(token);
}

Json encoder_decoder_config(const TransformerConfig& c, TransformersClass kind) {
  const bool marian = kind == TransformersClass::marian, all = c.tie_embeddings == "all";
  Json json =
      marian ? Json{{"architectures", {"MarianMTModel"}}, {"model_type", "marian"}}
      : kind == TransformersClass::pegasus
          ? Json{{"architectures", {"PegasusForConditionalGeneration"}}, {"model_type", "pegasus"}}
          : Json{{"architectures", {"BlenderbotForConditionalGeneration"}}, {"model_type", "blenderbot"}};
  json["vocab_size"] = c.source_vocabulary > 0 ? c.source_vocabulary : c.vocabulary;
  if (marian) json["decoder_vocab_size"] = c.vocabulary, json["share_encoder_decoder_embeddings"] = all;
  // Marian can tie the decoder's embedding and the output projection, with or without the encoder's
  // embedding. The other classes can only tie all three or none.
  json["tie_word_embeddings"] = marian ? c.tie_embeddings != "none" : all;
  json["max_position_embeddings"] = transformers_positions(c);
  json["d_model"] = c.hidden_size;
  json["encoder_layers"] = c.encoder_layers, json["decoder_layers"] = c.decoder_layers;
  for (const char* side : {"encoder", "decoder"}) {
    json[std::string(side) + "_attention_heads"] = c.heads;
    json[std::string(side) + "_ffn_dim"] = c.feed_forward_size;
  }
  json["activation_function"] = activation_name(c.activation);
  json["scale_embedding"] = c.scales_embeddings();
  json["dropout"] = c.dropout, json["attention_dropout"] = rate(c.attention_dropout, c.dropout);
  json["activation_dropout"] = rate(c.activation_dropout, c.dropout);
  json["is_encoder_decoder"] = true;
  json["decoder_start_token_id"] = id(c.decoder_start_token_id);
  json["forced_eos_token_id"] = nullptr;  // by default, these classes force an end token at the length limit
  if (kind == TransformersClass::blenderbot) json["encoder_no_repeat_ngram_size"] = 0;
  return json;
}

Json gpt2_config(const TransformerConfig& c) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"vocab_size", c.vocabulary},
          {"n_positions", transformers_positions(c)},
          {"n_embd", c.hidden_size},
          {"n_layer", c.layers},
          {"n_head", c.heads},
          {"n_inner", c.feed_forward_size},
          {"activation_function", activation_name(c.activation)},
          {"layer_norm_epsilon", c.norm_epsilon},
          {"resid_pdrop", c.dropout},
          {"embd_pdrop", c.dropout},
          {"attn_pdrop", rate(c.attention_dropout, c.dropout)}};
}

Json llama_config(const TransformerConfig& c) {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"vocab_size", c.vocabulary},
          {"max_position_embeddings", transformers_positions(c)},
          {"hidden_size", c.hidden_size},
          {"intermediate_size", c.feed_forward_size},
          {"num_hidden_layers", c.layers},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", c.kv_heads > 0 ? c.kv_heads : c.heads},
          {"head_dim", c.head_size > 0 ? c.head_size : c.hidden_size / c.heads},
          {"hidden_act", activation_name(c.activation)},
          {"rms_norm_eps", c.norm_epsilon},
          {"rope_theta", c.rotary_base},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", c.rotary_base}}},
          {"attention_bias", c.bias},
          {"mlp_bias", c.bias || !c.gated},
          {"attention_dropout", rate(c.attention_dropout, c.dropout)}};
}

}  // namespace

TransformersClass transformers_class_of(const TransformerConfig& config) {
  if (config.kind == "encoder-decoder") return encoder_decoder(config);
  if (config.kind == "decoder") return decoder(config);
  refuse("kind", quoted(config.kind),
         "\"encoder-decoder\" or \"decoder\": the encoders of transformers (BertModel and others) have a "
         "norm after their embeddings");
}

std::int64_t transformers_positions(const TransformerConfig& config) {
  if (config.max_positions > 0) return config.max_positions;
  return config.positions == "rotary" ? kRotaryPositions : kTablePositions;
}

Json transformers_config(const TransformerConfig& config) {
  const TransformersClass kind = transformers_class_of(config);
  const bool decoder = config.kind == "decoder";
  Json json = kind == TransformersClass::gpt2    ? gpt2_config(config)
              : kind == TransformersClass::llama ? llama_config(config)
                                                 : encoder_decoder_config(config, kind);
  // If there is an embedding factor, the converted input table includes it and the output table does not, so
  // the two tables are not tied.
  if (decoder) json["tie_word_embeddings"] = config.tie_embeddings != "none" && !config.scales_embeddings();
  json["pad_token_id"] = id(config.pad_token_id);
  json["bos_token_id"] = id(config.bos_token_id);
  json["eos_token_id"] = id(config.eos_token_id);
  return json;
}

}  // namespace regard::models
