// Evaluation of language models: loss and perplexity of running text or of masked tokens.
#pragma once

#include <cstdint>
#include <string>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Evaluate a language model on the text of the files: compute the loss of all tokens except the first, in
// windows of `context` tokens. Context 0 means the model's maximum number of positions, or 1024 if it has no
// limit. Metrics: perplexity per token, and per word and per byte of the text, which are comparable between
// tokenizers. Throws usage if the context is larger than the model's maximum number of positions, or if the
// text has fewer than two tokens.
Evaluation language_model(const Subject& subject, const DataOptions& data, std::int64_t context);

struct MaskedOptions {
  // fraction of the tokens of each text to mask, without special tokens; at least one token
  double share = 0.15;
  std::uint64_t seed = 1;  // the masked tokens depend on the seed and the index of the text
  // maximum tokens per text; further tokens are ignored; 0 means the model's maximum number of positions
  std::int64_t context = 0;
};
// Evaluate a masked language model: replace tokens of each line with the mask token. Compute the loss of the
// original tokens, and the fraction of masks whose most probable token is the original token. Data: text
// files, one text per line; blank lines are skipped.
Evaluation masked_language_model(const Subject& subject, const DataOptions& data,
                                 const MaskedOptions& options);

}  // namespace regard::evaluate
