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

// Evaluate the labels of words; the predicted label of a word is the label of its first token. Throws
// bad_file with file and line if the numbers of labels and words in a row differ, or a label does not belong
// to the scheme `strict`.
//   Data: column files with one word per line (.conllu, .conll, .bio, .iob, .iob2), or a table with the
//     columns words and labels, which contain lists of equal length (separated by spaces in TSV and CSV).
//   Entity scores are computed if `strict` is set or a true label has one of the prefixes "B-", "I-", "E-",
//     "S-", "L-", "U-". The predicted label of a word without tokens is then "O".
//   Otherwise, classification scores are computed, and an unknown label or a word without tokens throws
//     invalid_input.
Evaluation token_classification(const Subject& subject, const DataOptions& data,
                                const TokenClassificationOptions& options);

}  // namespace regard::evaluate
