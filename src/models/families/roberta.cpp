// RoBERTa (Liu et al. 2019) and XLM-RoBERTa (Conneau et al. 2020): BERT's encoder with different heads.
// Padding tokens are not counted as positions, and the first position uses row pad_token_id + 1 of the
// position table.
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
  all.encoder = bert_encoder(config, prefix, 1);
  check_common(config, all.encoder->input.vocabulary);
  count_positions_over_tokens(config, all.encoder->input.padding, all);
  set_roberta_head(config, kind, "Roberta", "roberta.", all);
  return all;
}

}  // namespace regard::models::families
