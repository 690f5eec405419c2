// AST, the Audio Spectrogram Transformer (Gong et al. 2021), as in transformers'
// modeling_audio_spectrogram_transformer.py: the encoder of ViT over overlapping patches of a spectrogram.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {

Architecture audio_spectrogram_transformer(const ConfigReader& config) {
  const bool classifies =
      architecture_of(config, {"ASTForAudioClassification", "ASTModel"}) == "ASTForAudioClassification";
  const std::string prefix = classifies ? "audio_spectrogram_transformer." : "";
  Architecture all;
  all.hidden = config.size("hidden_size");
  PatchConfig patches;
  patches.spectrogram = true;
  patches.channels = 1;
  patches.width = config.size("max_length", 1024), patches.height = config.size("num_mel_bins", 128);
  patches.patch_height = patches.patch_width = config.size("patch_size", 16);
  patches.row_stride = config.size("frequency_stride", 10);
  patches.column_stride = config.size("time_stride", 10);
  if (patches.rows() < 1 || patches.columns() < 1)
    throw config.wrong("patch_size", "at most max_length and num_mel_bins");
  if (patches.rows() > kLargestSize / patches.columns())
    throw config.wrong("max_length", "a smaller length, because there are too many patches");
  if (patches.patch_height > kLargestSize / patches.patch_width)
    throw config.wrong("patch_size", "smaller patches");
  all.encoder = vit_encoder(config, prefix, patches);
  all.encoder->input.patches->specials.push_back(prefix + "embeddings.distillation_token");
  check_common(config, kLargestSize);
  all.names.prefixes = {"audio_spectrogram_transformer."};
  all.names.modules = vit_modules();
  all.head.rows = HeadConfig::Rows::first_two;
  if (!classifies) {
    all.head.output = Output::pooled;
    all.names.ignored = {"classifier."};
    return all;
  }
  all.head = sequence_classifier(config, {}, "classifier.dense");
  all.head.rows = HeadConfig::Rows::first_two;
  all.head.norm = "classifier.layernorm", all.head.norm_config = all.encoder->norm_config;
  return all;
}

}  // namespace regard::models::families
