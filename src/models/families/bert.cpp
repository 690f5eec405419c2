// BERT (Devlin et al. 2019), as in transformers' modeling_bert.py: a post-norm encoder with learned positions
// and token types, and either a pooler or one of four heads.
#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {

nn::BlockConfig bert_block(const ConfigReader& config, std::int64_t hidden, float dropout) {
  nn::BlockConfig block;
  nn::AttentionConfig& self = block.self;
  self.hidden = hidden;
  self.heads = config.divisor("num_attention_heads", hidden, "hidden_size");
  self.dropout = config.rate("attention_probs_dropout_prob", dropout);
  self.query = "attention.self.query", self.key = "attention.self.key";
  self.value = "attention.self.value", self.output = "attention.output.dense";
  nn::FeedForwardConfig& feed_forward = block.feed_forward;
  feed_forward.hidden = hidden, feed_forward.inner = config.size("intermediate_size");
  feed_forward.activation = config.activation("hidden_act", "gelu");
  feed_forward.up = "intermediate.dense", feed_forward.down = "output.dense";
  block.norm = {false, true, config.epsilon("layer_norm_eps", 1e-12), 0.0};
  block.self_norm.after = "attention.output.LayerNorm";
  block.feed_forward_norm.after = "output.LayerNorm";
  block.dropout = config.rate("hidden_dropout_prob", dropout);
  initialise_normal(block, config.number("initializer_range", 0.02, 0.0, 1.0));
  return block;
}

InputEmbeddingConfig bert_embedding(const ConfigReader& config, const std::string& prefix,
                                    const nn::BlockConfig& block) {
  InputEmbeddingConfig input;
  input.tokens = prefix + "embeddings.word_embeddings";
  input.vocabulary = config.size("vocab_size");
  input.positions = prefix + "embeddings.position_embeddings";
  input.position_rows = config.size("max_position_embeddings");
  input.norm = prefix + "embeddings.LayerNorm";
  input.norm_config = block.norm;
  input.dropout = block.dropout;
  return input;
}

StackConfig bert_encoder(const ConfigReader& config, const std::string& prefix, std::int64_t padding) {
  config.only("is_decoder", false, "BERT as a decoder");
  config.only("add_cross_attention", false, "BERT with cross-attention");
  config.only("position_embedding_type", "absolute", "Another type of position embedding");
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "encoder.layer.";
  stack.layers = config.layers("num_hidden_layers");
  const std::int64_t hidden = config.size("hidden_size");
  stack.block = bert_block(config, hidden);
  InputEmbeddingConfig& input = stack.input = bert_embedding(config, prefix, stack.block);
  input.padding = config.padding(input.vocabulary, padding);
  input.types = prefix + "embeddings.token_type_embeddings";
  input.type_count = config.size("type_vocab_size");
  return stack;
}

Architecture bert(const ConfigReader& config) {
  const std::string kind = architecture_of(
      config, {"BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification",
               "BertForTokenClassification", "BertForQuestionAnswering"});
  const std::string prefix = kind == "BertModel" ? "" : "bert.";
  Architecture all;
  all.hidden = config.size("hidden_size");
  all.encoder = bert_encoder(config, prefix);
  all.max_positions = all.encoder->input.position_rows;
  check_common(config, all.encoder->input.vocabulary);
  const DenseConfig pooler{prefix + "pooler.dense", all.hidden, kernels::Activation::tanh, true, "", {}};
  if (kind == "BertModel") {
    all.head = pooled(pooler);
  } else if (kind == "BertForMaskedLM" || kind == "BertForPreTraining") {
    DenseConfig transform{"cls.predictions.transform.dense",          all.hidden,
                          all.encoder->block.feed_forward.activation, true,
                          "cls.predictions.transform.LayerNorm",      all.encoder->block.norm};
    all.head = masked_language_model(*all.encoder, transform);
  } else if (kind == "BertForSequenceClassification") {
    all.head = sequence_classifier(config, {pooler}, "classifier");
    all.head_pools = true;
  } else {
    all.head = token_head(config, kind);
  }
  all.names = encoder_names("bert.");
  all.names.ignored.insert(all.names.ignored.end(), {"cls.seq_relationship."});
  if (kind != "BertModel" && !all.head_pools) {
    all.names.ignored.push_back("pooler.dense.");
    all.pooler = pooler;
  }
  if (kind == "BertModel") all.names.ignored.push_back("cls.predictions.");
  if (all.head.output == Output::vocabulary)
    name_projection(config, "cls.predictions.decoder", "cls.predictions.bias", all);
  return all;
}

}  // namespace regard::models::families
