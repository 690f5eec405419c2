// Language models: loss and perplexity of a running text, and of masked tokens.
#pragma once

#include <cstdint>
#include <string>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Return the loss over the text of the files in windows of `context` tokens, except its first token. 0: the
// model's number of positions, or 1024 if it has no limit. Perplexity per token, and comparable between
// tokenizers, per word and per byte of the text. Throws usage if the context is larger than the model's
// positions or the text is too short.
Evaluation language_model(const Subject& subject, const DataOptions& data, std::int64_t context);

struct MaskedOptions {
  double share = 0.15;       // of the tokens of each text, special tokens excluded; at least one token
  std::uint64_t seed = 1;    // the masked tokens depend on the seed and the number of the row
  std::int64_t context = 0;  // maximum tokens of a text, the rest is ignored; 0: the model's positions
};
// Masked language models: replace tokens of each line by the mask token and compute the loss of the original
// tokens and how often the most probable token is the original. Data: text files, one text a line; blank
// lines are skipped.
Evaluation masked_language_model(const Subject& subject, const DataOptions& data,
                                 const MaskedOptions& options);

}  // namespace regard::evaluate
