// DistilBERT (Sanh et al. 2019): BERT without token types and pooler, with different weight names and
// configuration keys.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

constexpr double kEpsilon = 1e-12;  // epsilon of the norms, fixed in transformers' code

StackConfig encoder_of(const ConfigReader& config, const std::string& prefix) {
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "transformer.layer.";
  stack.layers = config.layers("n_layers");
  nn::AttentionConfig& self = stack.block.self;
  self.hidden = config.size("dim");
  self.heads = config.divisor("n_heads", self.hidden, "dim");
  self.dropout = config.rate("attention_dropout", 0.1f);
  self.query = "attention.q_lin", self.key = "attention.k_lin";
  self.value = "attention.v_lin", self.output = "attention.out_lin";
  nn::FeedForwardConfig& feed_forward = stack.block.feed_forward;
  feed_forward.hidden = self.hidden, feed_forward.inner = config.size("hidden_dim");
  feed_forward.activation = config.activation("activation", "gelu");
  feed_forward.up = "ffn.lin1", feed_forward.down = "ffn.lin2";
  stack.block.norm = {false, true, kEpsilon, 0.0};
  stack.block.self_norm.after = "sa_layer_norm";
  stack.block.feed_forward_norm.after = "output_layer_norm";
  stack.block.dropout = config.rate("dropout", 0.1f);
  initialise_normal(stack.block, config.number("initializer_range", 0.02, 0.0, 1.0));
  stack.input = bert_embedding(config, prefix, stack.block);
  stack.input.padding = config.padding(stack.input.vocabulary, 0);
  return stack;
}

}  // namespace

Architecture distilbert(const ConfigReader& config) {
  const std::string kind = architecture_of(
      config, {"DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification",
               "DistilBertForTokenClassification", "DistilBertForQuestionAnswering"});
  Architecture all;
  all.hidden = config.size("dim");
  all.encoder = encoder_of(config, kind == "DistilBertModel" ? "" : "distilbert.");
  all.max_positions = all.encoder->input.position_rows;
  check_common(config, all.encoder->input.vocabulary);
  if (kind == "DistilBertForMaskedLM") {
    const DenseConfig transform{"vocab_transform",
                                all.hidden,
                                all.encoder->block.feed_forward.activation,
                                true,
                                "vocab_layer_norm",
                                all.encoder->block.norm};
    all.head = masked_language_model(*all.encoder, transform);
  } else if (kind == "DistilBertForSequenceClassification") {
    const DenseConfig dense{"pre_classifier", all.hidden, kernels::Activation::relu, true, "", {}};
    all.head = sequence_classifier(config, {dense}, "classifier");
    all.head.dropout = config.rate("seq_classif_dropout", 0.2f);
  } else {
    all.head = token_head(config, kind);
    if (all.head.output == Output::token_classes) all.head.dropout = config.rate("dropout", 0.1f);
    if (all.head.output == Output::span) all.head.dropout = config.rate("qa_dropout", 0.1f);
  }
  all.names = encoder_names("distilbert.");
  if (kind == "DistilBertForMaskedLM") name_projection(config, "vocab_projector", "", all);
  if (kind == "DistilBertModel") all.names.ignored.push_back("vocab_");
  return all;
}

}  // namespace regard::models::families
