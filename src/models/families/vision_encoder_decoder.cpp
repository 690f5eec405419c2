// VisionEncoderDecoderModel of transformers: a ViT or DeiT encoder, and a GPT-2, BART, mBART or TrOCR decoder
// with cross-attention to the encoder. Used for image captions (Kumar 2022, vit-gpt2-image-captioning) and
// text recognition (Li et al. 2021, "TrOCR").
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

ConfigReader side(const ConfigReader& config, const char* name) {
  const auto found = config.json().find(name);
  if (found == config.json().end() || !found->is_object())
    throw file_error(config.file(), std::string("the value of \"") + name + "\" is invalid")
        .found(found == config.json().end() ? "no such key" : describe(*found))
        .expected("the configuration of a model, as an object");
  return {*found, config.file() + ": " + name};
}

// Set the fields of `all` that describe a GPT-2 decoder and its output projection.
void set_gpt2(const ConfigReader& config, Architecture& all) {
  if (!config.flag("add_cross_attention", false)) throw config.wrong("add_cross_attention", "true");
  all.hidden = config.size("n_embd");
  all.decoder = gpt2_decoder(config, "decoder.transformer.");
  all.head.projection = "decoder.lm_head";
  all.max_positions = all.decoder->input.position_rows;
}

void set_bart(const ConfigReader& config, const std::string& projection, Architecture& all) {
  all.hidden = config.size("d_model");
  all.decoder = bart_decoder(config, "decoder.model.");
  all.head.projection = projection;
  all.max_positions = config.size("max_position_embeddings");
}

// If encoder and decoder have different hidden sizes, connect them by a projection, or by a cross-attention
// whose input has the encoder's hidden size.
void connect(const ConfigReader& encoder, const ConfigReader& decoder, Architecture& all) {
  const std::int64_t features = encoder.size("hidden_size");
  nn::AttentionConfig& cross = all.decoder->block.cross;
  if (decoder.has("cross_attention_hidden_size")) {
    if (decoder.size("cross_attention_hidden_size") != features)
      throw decoder.wrong("cross_attention_hidden_size",
                          "the encoder's hidden_size, " + std::to_string(features));
    if (decoder.word("model_type", "") == "trocr")
      cross.memory_hidden = features;
    else if (features != all.hidden)  // in transformers, only TrOCR decoders read this key
      throw decoder.wrong("cross_attention_hidden_size", "the key to be absent")
          .remedy("Remove the key, or use a TrOCR decoder");
  } else if (features != all.hidden) {
    all.memory_projection = "enc_to_dec_proj";
  }
  all.encoder_hidden = features;
}

}  // namespace

Architecture vision_encoder_decoder(const ConfigReader& config) {
  architecture_of(config, {"VisionEncoderDecoderModel"});
  const ConfigReader encoder = side(config, "encoder"), decoder = side(config, "decoder");
  const std::string reads = encoder.word("model_type", ""), writes = decoder.word("model_type", "");
  if (reads != "vit" && reads != "deit") throw encoder.wrong("model_type", "vit or deit");
  Architecture all;
  if (writes == "gpt2")
    set_gpt2(decoder, all);
  else if (writes == "bart" || writes == "mbart")
    set_bart(decoder, "decoder.lm_head", all);
  else if (writes == "trocr")
    set_bart(decoder, "decoder.output_projection", all);
  else
    throw decoder.wrong("model_type", "gpt2, bart, mbart or trocr");
  all.encoder = vit_encoder(encoder, "encoder.");
  if (reads == "deit")
    all.encoder->input.patches->specials.emplace_back("encoder.embeddings.distillation_token");
  all.names.modules = vit_modules();
  connect(encoder, decoder, all);
  const InputEmbeddingConfig& input = all.decoder->input;
  check_common(config, input.vocabulary);
  check_common(decoder, input.vocabulary);
  all.head.output = Output::next_token;
  all.head.out = input.vocabulary;
  if (decoder.flag("tie_word_embeddings", true)) {
    all.names.copies = {{input.tokens + ".weight", all.head.projection + ".weight"}};
    all.head.projection = input.tokens;
  }
  all.names.ignored = {"encoder.pooler.dense.",
                       "embeddings.mask_token",
                       ".attn.bias",
                       ".attn.masked_bias",
                       ".crossattention.bias",
                       ".crossattention.masked_bias",
                       "embed_positions._float_tensor"};
  return all;
}

}  // namespace regard::models::families
