// Token classification: accuracy of labels, and entity scores computed as in seqeval.
#pragma once

#include <optional>

#include "evaluate/evaluation.h"
#include "metrics/entities.h"

namespace regard::evaluate {

struct TokenClassificationOptions {
  std::optional<metrics::EntityScheme>
      strict;  // use seqeval's strict mode with this scheme; default: conlleval's rules
  // tokens per window; 0 means the model's maximum number of positions, or 512 if it has no limit
  std::int64_t window = 0;
};

// Data: column files with one word per line (.conllu, .conll, .bio, .iob, .iob2), or a table with the columns
// words and labels. These columns hold lists of equal length, separated by spaces in TSV and CSV. A word's
// predicted label is that of its first token; words without tokens count as wrong. Entity scores (labels with
// prefixes "B-", "I-", "E-", "S-", "L-", "U-") are computed if a true label has one of these prefixes or if
// `strict` is set. Otherwise the scores are those of classification; then an unknown label and a word without
// tokens are errors (invalid_input). Throws bad_file with file and line if the numbers of labels and words in
// a row differ.
Evaluation token_classification(const Subject& subject, const DataOptions& data,
                                const TokenClassificationOptions& options);

}  // namespace regard::evaluate
