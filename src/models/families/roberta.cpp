// RoBERTa (Liu et al. 2019): BERT's encoder with different heads. Positions count only tokens other than
// padding; the first position has row padding + 1 of the table. XLM-RoBERTa (Conneau et al. 2020) has the
// same architecture.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {

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
  set_roberta_head(config, kind, "Roberta", "roberta.", all);
  return all;
}

}  // namespace regard::models::families
