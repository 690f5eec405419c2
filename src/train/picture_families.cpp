#include "train/picture_families.h"

namespace regard::train {
namespace {

Json vit_like(const NewModel& model, const char* family, std::int64_t layers) {
  Json config{{"model_type", family}};
  add_sizes(model.sizes, layers, config);
  add_dropout(model.sizes, config);
  config.update(Json{{"image_size", model.images->size},
                     {"patch_size", model.images->patch_size},
                     {"num_channels", 3},
                     {"qkv_bias", true},
                     {"initializer_range", 0.02},
                     {"layer_norm_eps", 1e-12}});
  return config;
}

// Return the configuration of one of the two encoders of CLIP.
Json clip_part(const NewModel& model, const char* type) {
  Json config{{"model_type", type}};
  add_sizes(model.sizes, model.sizes.layers, config);
  config["attention_dropout"] = attention_dropout(model.sizes, 0.0);
  config["projection_dim"] = model.sizes.hidden_size;
  config["layer_norm_eps"] = 1e-5;
  return config;
}

}  // namespace

Json vit_config(const NewModel& model) {
  return vit_like(model, "vit", model.sizes.layers);
}

Json deit_config(const NewModel& model) {
  return vit_like(model, "deit", model.sizes.layers);
}

Json clip_config(const NewModel& model) {
  Json text = clip_part(model, "clip_text_model"), vision = clip_part(model, "clip_vision_model");
  text["vocab_size"] = model.vocabulary;
  text["max_position_embeddings"] =
      model.sizes.max_positions == 0 ? model.positions : model.sizes.max_positions;
  text["pad_token_id"] = model.special.pad;
  text["bos_token_id"] = model.special.begin;
  text["eos_token_id"] = model.special.end;
  vision["image_size"] = model.images->size;
  vision["patch_size"] = model.images->patch_size;
  vision["num_channels"] = 3;
  return {{"model_type", "clip"},
          {"architectures", {"CLIPModel"}},
          {"projection_dim", model.sizes.hidden_size},
          {"logit_scale_init_value", 2.6592},
          {"text_config", text},
          {"vision_config", vision}};
}

Json vision_encoder_decoder_config(const NewModel& model) {
  TransformerConfig sizes = model.sizes;
  sizes.layers = sizes.decoder_layers;
  NewModel writer{sizes, model.vocabulary, model.special, model.positions, model.images};
  Json decoder = gpt2_config(writer);
  decoder["add_cross_attention"] = true;
  decoder["is_decoder"] = true;
  decoder["activation_function"] = activation_in_transformers(sizes.activation);
  Json config{{"model_type", "vision-encoder-decoder"},
              {"architectures", {"VisionEncoderDecoderModel"}},
              {"encoder", vit_like(model, "vit", sizes.encoder_layers)},
              {"decoder", decoder},
              {"decoder_start_token_id", model.special.decoder_start},
              {"is_encoder_decoder", true},
              {"tie_word_embeddings", decoder["tie_word_embeddings"]}};
  for (const char* key : {"pad_token_id", "bos_token_id", "eos_token_id"}) config[key] = decoder[key];
  return config;
}

}  // namespace regard::train
