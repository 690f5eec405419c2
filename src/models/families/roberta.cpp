// RoBERTa (Liu et al. 2019): BERT's encoder with different heads. Tokens other than padding are numbered for
// positions, starting at the row after the padding's. XLM-RoBERTa (Conneau et al. 2020) has the same
// architecture.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::families {

Architecture roberta(const ConfigReader& config) {
  std::string kind = architecture_of(
      config, {"RobertaModel", "RobertaForMaskedLM", "RobertaForSequenceClassification",
               "RobertaForTokenClassification", "RobertaForQuestionAnswering", "XLMRobertaModel",
               "XLMRobertaForMaskedLM", "XLMRobertaForSequenceClassification",
               "XLMRobertaForTokenClassification", "XLMRobertaForQuestionAnswering"});
  if (kind.starts_with("XLM")) kind.erase(0, 3);
  const std::string prefix = kind == "RobertaModel" ? "" : "roberta.";
  Architecture all;
  all.hidden = config.size("hidden_size");
  all.encoder = bert_encoder(config, prefix);
  check_common(config, all.encoder->input.vocabulary);
  count_positions_over_tokens(config, all.encoder->input.padding, all);
  const auto dense = [&](const std::string& name, kernels::Activation activation) {
    return DenseConfig{name, all.hidden, activation, true, "", all.encoder->block.norm};
  };
  const DenseConfig pooler = dense(prefix + "pooler.dense", kernels::Activation::tanh);
  if (kind == "RobertaModel") {
    all.head = pooled(pooler);
  } else if (kind == "RobertaForMaskedLM") {
    DenseConfig transform = dense("lm_head.dense", kernels::Activation::gelu);
    transform.norm = "lm_head.layer_norm";
    all.head = masked_language_model(*all.encoder, transform);
  } else if (kind == "RobertaForSequenceClassification") {
    all.head = sequence_classifier(config, {dense("classifier.dense", kernels::Activation::tanh)},
                                   "classifier.out_proj");
  } else if (kind == "RobertaForTokenClassification") {
    all.head = token_classifier(config, "classifier");
  } else {
    all.head = question_answering("qa_outputs");
  }
  all.names = encoder_names("roberta.");
  all.names.ignored.push_back(kind == "RobertaModel" ? "lm_head." : "pooler.dense.");
  if (kind != "RobertaModel") all.pooler = pooler;
  if (kind == "RobertaForMaskedLM") name_projection(config, "lm_head.decoder", "lm_head.bias", all);
  return all;
}

}  // namespace regard::families
