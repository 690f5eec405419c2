// VisionEncoderDecoderModel of transformers: a ViT or DeiT encoder and a GPT-2 decoder with cross-attention
// to it, as in captioning (Li et al. 2021, "TrOCR"; Kumar 2022, vit-gpt2-image-captioning).
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::families {
namespace {

ConfigReader side(const ConfigReader& config, const char* name) {
  const auto found = config.json().find(name);
  if (found == config.json().end() || !found->is_object())
    throw file_error(config.file(), std::string("the key \"") + name + "\" is missing or not an object");
  return {*found, config.file() + ": " + name};
}

}  // namespace

Architecture vision_encoder_decoder(const ConfigReader& config) {
  architecture_of(config, {"VisionEncoderDecoderModel"});
  const ConfigReader encoder = side(config, "encoder"), decoder = side(config, "decoder");
  const std::string reads = encoder.word("model_type", ""), writes = decoder.word("model_type", "");
  if (reads != "vit" && reads != "deit") throw encoder.wrong("model_type", "vit or deit");
  if (writes != "gpt2") throw decoder.wrong("model_type", "gpt2");
  if (!decoder.flag("add_cross_attention", false)) throw decoder.wrong("add_cross_attention", "true");
  Architecture all;
  all.hidden = decoder.size("n_embd");
  if (encoder.size("hidden_size") != all.hidden)  // transformers would project (enc_to_dec_proj)
    throw encoder.wrong("hidden_size", "the decoder's n_embd, " + std::to_string(all.hidden));
  all.encoder = vit_encoder(encoder, "encoder.");
  if (reads == "deit")
    all.encoder->input.patches->specials.emplace_back("encoder.embeddings.distillation_token");
  all.decoder = gpt2_decoder(decoder, "decoder.transformer.");
  const InputEmbeddingConfig& input = all.decoder->input;
  all.max_positions = input.position_rows;
  check_common(config, input.vocabulary);
  check_common(decoder, input.vocabulary);
  const bool tied = decoder.flag("tie_word_embeddings", true);
  all.head.output = Output::next_token;
  all.head.projection = tied ? input.tokens : "decoder.lm_head";
  all.head.out = input.vocabulary;
  if (tied) all.names.copies = {{input.tokens + ".weight", "decoder.lm_head.weight"}};
  all.names.ignored = {"encoder.pooler.dense.", "embeddings.mask_token", ".attn.bias", ".attn.masked_bias"};
  return all;
}

}  // namespace regard::families
