// Code shared by the encoder families: BERT's block and encoder, heads, and naming rules.
#pragma once

#include "base/namespaces.h"
#include "models/architecture.h"
#include "models/families/config_reader.h"

namespace regard::models::families {

// bert_block() and bert_encoder() return BERT's block and encoder, which other families use too. `prefix` is
// the prefix of the encoder's weight names, `dropout` the default of the dropout rates.
nn::BlockConfig bert_block(const ConfigReader& config, std::int64_t hidden, float dropout = 0.1f);
// `padding` is the default of pad_token_id.
StackConfig bert_encoder(const ConfigReader& config, const std::string& prefix, std::int64_t padding = 0);
// Return the input embedding of a stack whose layers are configured by `block`: token embeddings + learned
// positions, followed by a norm.
InputEmbeddingConfig bert_embedding(const ConfigReader& config, const std::string& prefix,
                                    const nn::BlockConfig& block);

// vit_encoder(), gpt2_decoder() and bart_decoder() return the encoders and decoders that
// VisionEncoderDecoderModel combines. `prefix` is the prefix of their weight names.
StackConfig vit_encoder(const ConfigReader& config, const std::string& prefix);
// Return the encoder of ViT over the given patches. Sets the names of the patches' projection, positions and
// first special token.
StackConfig vit_encoder(const ConfigReader& config, const std::string& prefix, PatchConfig patches);
// Return NameRules::modules of ViT's encoder, which DeiT and AST share.
std::vector<std::pair<std::string, std::string>> vit_modules();
StackConfig gpt2_decoder(const ConfigReader& config, const std::string& prefix);
// Return the decoder of BART, mBART or TrOCR, which have the same configuration keys and weight names.
StackConfig bart_decoder(const ConfigReader& config, const std::string& prefix);

// Read the sizes of images and patches: num_channels, image_size, patch_size.
PatchConfig patch_grid(const ConfigReader& config);

HeadConfig pooled(const DenseConfig& dense);  // return a head with a pooler of the first token
// Return the head of a masked language model. The caller sets the projection and its bias with
// name_projection().
HeadConfig masked_language_model(const StackConfig& encoder, const DenseConfig& transform);
HeadConfig sequence_classifier(const ConfigReader& config, std::vector<DenseConfig> dense,
                               const std::string& projection);
// Return the classification head of a decoder, as in transformers' LlamaForSequenceClassification. The head
// is applied to the last token whose id is not `padding_id`; if `padding_id` is −1, to the last token.
HeadConfig last_token_classifier(const ConfigReader& config, std::int64_t padding_id);
// Return the dropout before a classifier's projection, as in BERT. It applies to token classification, and to
// sequence_classifier() if there are dense layers.
float classifier_dropout(const ConfigReader& config);
// Return the head of a class …ForTokenClassification or …ForQuestionAnswering. For other classes, return no
// head.
HeadConfig token_head(const ConfigReader& config, const std::string& kind);

// Set head, pooler and names in `all` for a RoBERTa class; all.encoder must already be set. `kind` is the
// name of the class ("RobertaForMaskedLM"), and `family` is the start of this name ("Roberta"). `prefix` is
// the prefix of the encoder's weights in classes with a head ("roberta.").
void set_roberta_head(const ConfigReader& config, const std::string& kind, const std::string& family,
                      const std::string& prefix, Architecture& all);

// Return the NameRules of a BERT-like encoder: files may omit `prefix`, may use the older names gamma and
// beta in norms, and may contain unused buffers of position and type ids.
NameRules encoder_names(const std::string& prefix);

// Set the weight names of the output projection, as in transformers; an empty `bias` means PROJECTION.bias.
//   tie_word_embeddings is true (default): the projection is tied to the token table, and its bias is `bias`;
//   a file may also contain copies of both, PROJECTION.weight and PROJECTION.bias
//   tie_word_embeddings is false: the weights are PROJECTION.weight and PROJECTION.bias; if the file lacks
//   PROJECTION.bias, `bias` is used
void name_projection(const ConfigReader& config, const std::string& projection, const std::string& bias,
                     Architecture& all);

// Number the positions as in RoBERTa: padding tokens are not counted, and the first position uses row
// `padding` + 1 of the position table.
void count_positions_over_tokens(const ConfigReader& config, std::int64_t padding, Architecture& all);

// set the initial distribution of all matrices of the block
void initialise_normal(nn::BlockConfig& block, double deviation);

}  // namespace regard::models::families
