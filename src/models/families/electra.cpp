// ELECTRA (Clark et al. 2020): BERT's encoder with embeddings of a separate size, projected to hidden_size.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {

Architecture electra(const ConfigReader& config) {
  const std::string kind =
      architecture_of(config, {"ElectraModel", "ElectraForPreTraining", "ElectraForMaskedLM",
                               "ElectraForSequenceClassification", "ElectraForTokenClassification",
                               "ElectraForQuestionAnswering"});
  const std::string prefix = kind == "ElectraModel" ? "" : "electra.";
  Architecture all;
  all.hidden = config.size("hidden_size");
  all.encoder = bert_encoder(config, prefix);
  InputEmbeddingConfig& input = all.encoder->input;
  input.size = config.size("embedding_size", 128);
  if (input.size != all.hidden) input.projection = prefix + "embeddings_project";
  all.max_positions = input.position_rows;
  check_common(config, input.vocabulary);
  if (kind == "ElectraForMaskedLM") {
    const DenseConfig transform{"generator_predictions.dense",     input.size,
                                kernels::Activation::gelu,         true,
                                "generator_predictions.LayerNorm", all.encoder->block.norm};
    all.head = masked_language_model(*all.encoder, transform);
  } else if (kind == "ElectraForSequenceClassification") {
    const DenseConfig dense{"classifier.dense", all.hidden, kernels::Activation::gelu, true, "", {}};
    all.head = sequence_classifier(config, {dense}, "classifier.out_proj");
    all.head.input_dropout = all.head.dropout;
  } else if (kind == "ElectraForPreTraining") {
    const std::string part = "discriminator_predictions.";
    const auto activation = all.encoder->block.feed_forward.activation;
    all.head.output = Output::token_flags;
    all.head.dense = {{part + "dense", all.hidden, activation, true, "", {}}};
    all.head.projection = part + "dense_prediction";
    all.head.out = 1;
    all.head.bias = all.head.projection + ".bias";
  } else {
    all.head = token_head(config, kind);
  }
  all.names = encoder_names("electra.");
  if (kind != "ElectraForPreTraining") all.names.ignored.push_back("discriminator_predictions.");
  if (kind != "ElectraForMaskedLM") all.names.ignored.push_back("generator_");
  if (kind == "ElectraForMaskedLM") name_projection(config, "generator_lm_head", "", all);
  return all;
}

}  // namespace regard::models::families
