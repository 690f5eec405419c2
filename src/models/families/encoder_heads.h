// What the families of encoders share beside the block: their heads, and how their files name things.
#pragma once

#include "models/architecture.h"
#include "models/families/config_reader.h"

namespace regard::families {

// BERT's block and its encoder, which others have too, the latter under `prefix`.
nn::BlockConfig bert_block(const ConfigReader& config, std::int64_t hidden);
StackConfig bert_encoder(const ConfigReader& config, const std::string& prefix);

HeadConfig pooled(const DenseConfig& dense);  // of the first token
// The bias and the projection are name_projection()'s.
HeadConfig masked_language_model(const StackConfig& encoder, const DenseConfig& transform);
HeadConfig sequence_classifier(const ConfigReader& config, std::vector<DenseConfig> dense,
                               const std::string& projection);
HeadConfig token_classifier(const ConfigReader& config, const std::string& projection);
HeadConfig question_answering(const std::string& projection);

// The model's prefix, which a file may lack; gamma and beta; buffers of positions.
NameRules encoder_names(const std::string& prefix);

// How the output over the vocabulary is stored. Tied to the token table unless tie_word_embeddings is false:
// then a file may have the copies PROJECTION.weight of the table, and PROJECTION.bias of `bias`, where that
// has a name of its own. Not tied: PROJECTION.weight and PROJECTION.bias, for which `bias` may stand where
// the file lacks it; transformers does not read `bias` otherwise.
void name_projection(const ConfigReader& config, const std::string& projection, const std::string& bias,
                     Architecture& all);

// Positions as RoBERTa counts them: over the tokens that are not padding, from the row behind the padding's.
void count_positions_over_tokens(const ConfigReader& config, std::int64_t padding, Architecture& all);

void initialise_normal(nn::BlockConfig& block, double deviation);  // every matrix

}  // namespace regard::families
