#include "train/sound_families.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/parameter.h"
#include "train/picture_families.h"

namespace regard::train {

Json audio_spectrogram_transformer_config(const NewModel& model) {
  Json config{{"model_type", "audio-spectrogram-transformer"}};
  add_sizes(model.sizes, model.sizes.layers, config);
  add_dropout(model.sizes, config);
  config.update(Json{{"patch_size", model.sound->patch_size},
                     {"frequency_stride", model.sound->patch_stride},
                     {"time_stride", model.sound->patch_stride},
                     {"max_length", model.sound->seconds * kMelFramesPerSecond},
                     {"num_mel_bins", model.sound->bins},
                     {"qkv_bias", true},
                     {"initializer_range", 0.02},
                     {"layer_norm_eps", 1e-12}});
  return config;
}

// Return a configuration with the convolutions of the published wav2vec 2.0 models, layer norms after the
// convolutions, and pre-norm layers in the Transformer.
Json wav2vec2_config(const NewModel& model) {
  const TransformerConfig& sizes = model.sizes;
  const std::vector<std::int64_t> strides{5, 2, 2, 2, 2, 2, 2}, kernels{10, 3, 3, 3, 3, 2, 2};
  Json config{{"model_type", "wav2vec2"},
              {"architectures", {"Wav2Vec2ForCTC"}},
              {"vocab_size", model.vocabulary == 0 ? 32 : model.vocabulary}};
  add_sizes(sizes, sizes.layers, config);
  config.update(Json{{"hidden_dropout", sizes.dropout},
                     {"activation_dropout", 0.0},
                     {"attention_dropout", attention_dropout(sizes, sizes.dropout)},
                     {"feat_proj_dropout", 0.0},
                     {"final_dropout", sizes.dropout},
                     {"layerdrop", 0.0},
                     {"feat_extract_norm", "layer"},
                     {"feat_extract_activation", "gelu"},
                     {"do_stable_layer_norm", true},
                     {"conv_dim", std::vector<std::int64_t>(strides.size(), model.sound->channels)},
                     {"conv_stride", strides},
                     {"conv_kernel", kernels},
                     {"conv_bias", true},
                     {"num_feat_extract_layers", strides.size()},
                     {"num_conv_pos_embeddings", 32},
                     {"num_conv_pos_embedding_groups", sizes.heads},
                     {"apply_spec_augment", false},
                     {"mask_time_prob", 0.0},
                     {"mask_feature_prob", 0.0},
                     {"ctc_loss_reduction", "sum"},
                     {"ctc_zero_infinity", true},
                     {"pad_token_id", 0},
                     {"bos_token_id", 1},
                     {"eos_token_id", 2},
                     {"initializer_range", 0.02},
                     {"layer_norm_eps", 1e-5}});
  return config;
}

Json whisper_config(const NewModel& model) {
  const TransformerConfig& sizes = model.sizes;
  return {{"model_type", "whisper"},
          {"architectures", {"WhisperForConditionalGeneration"}},
          {"vocab_size", model.vocabulary},
          {"num_mel_bins", model.sound->bins},
          {"d_model", sizes.hidden_size},
          {"encoder_layers", sizes.encoder_layers},
          {"decoder_layers", sizes.decoder_layers},
          {"encoder_attention_heads", sizes.heads},
          {"decoder_attention_heads", sizes.heads},
          {"encoder_ffn_dim", sizes.feed_forward_size},
          {"decoder_ffn_dim", sizes.feed_forward_size},
          {"activation_function", activation_in_transformers(sizes.activation)},
          {"dropout", sizes.dropout},
          {"attention_dropout", attention_dropout(sizes, 0.0)},
          {"activation_dropout", 0.0},
          {"max_source_positions", model.sound->seconds * kMelFramesPerSecond / 2},
          {"max_target_positions", sizes.max_positions == 0 ? model.positions : sizes.max_positions},
          {"is_encoder_decoder", true},
          {"pad_token_id", model.special.end},
          {"bos_token_id", model.special.end},
          {"eos_token_id", model.special.end},
          {"decoder_start_token_id", model.special.decoder_start},
          {"suppress_tokens", nullptr},
          {"begin_suppress_tokens", nullptr},
          {"init_std", 0.02}};
}

// Set each scale to the Euclidean norm of its weights. The weights are [out, in / groups, kernel], the scales
// [1, 1, kernel].
void initialise_wav2vec2(Network& model) {
  const std::string scale = "parametrizations.weight.original0", weight = "parametrizations.weight.original1";
  std::vector<Parameter*> all = model.parameters();
  for (Parameter* scales : all) {
    if (!scales->name.ends_with(scale)) continue;
    const std::string name = scales->name.substr(0, scales->name.size() - scale.size()) + weight;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Parameter* p) { return p->name == name; });
    if (found == all.end()) continue;
    const Tensor& values = (*found)->value();
    const std::int64_t kernel = scales->value().elements();
    for (std::int64_t k = 0; k < kernel; ++k) {
      double sum = 0.0;
      for (std::int64_t i = k; i < values.elements(); i += kernel)
        sum += static_cast<double>(values.f32()[i]) * static_cast<double>(values.f32()[i]);
      scales->value().f32()[k] = static_cast<float>(std::sqrt(sum));
    }
  }
}

void initialise_whisper(Network& model) {
  for (Parameter* parameter : model.parameters()) {
    if (!parameter->name.ends_with("encoder.embed_positions.weight")) continue;
    const Tensor& value = parameter->value();
    const std::int64_t half = value.columns() / 2;
    const double step = std::log(10000.0) / static_cast<double>(std::max<std::int64_t>(half - 1, 1));
    for (std::int64_t position = 0; position < value.rows(); ++position)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(position) * std::exp(-step * static_cast<double>(i));
        value.row(position)[i] = static_cast<float>(std::sin(angle));
        value.row(position)[half + i] = static_cast<float>(std::cos(angle));
      }
  }
}

}  // namespace regard::train
