// Evaluation of language models: loss and perplexity of running text or of masked tokens.
#pragma once

#include <cstdint>
#include <string>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Compute the perplexity of the text of the files per token, per word and per byte. Perplexities per word and
// per byte can be compared between tokenizers. The loss is computed in windows of `context` tokens, for all
// tokens except the first. Context 0 means the model's maximum number of positions, or 1024 if it has no
// limit. Throws usage if the context is larger than the model's maximum number of positions, or if the text
// has fewer than two tokens.
Evaluation language_model(const Subject& subject, const DataOptions& data, std::int64_t context);

struct MaskedOptions {
  // fraction of the tokens of each text to mask (special tokens are excluded); at least one token is masked
  double share = 0.15;
  std::uint64_t seed = 1;  // the masked tokens depend on the seed and the index of the text
  // maximum tokens per text; further tokens are ignored; 0 means the model's maximum number of positions
  std::int64_t context = 0;
  bool cut = false;  // with context 0: truncate texts that are too long for the model; if false, throw
};
// Replace tokens of each text with the mask token; compute the loss of the original tokens, and the fraction
// of masks whose most probable token is the original token. Data: text files, one text per line; blank lines
// are skipped. Throws invalid_input with file and line for a text that is too long, unless it is truncated.
Evaluation masked_language_model(const Subject& subject, const DataOptions& data,
                                 const MaskedOptions& options);

}  // namespace regard::evaluate
