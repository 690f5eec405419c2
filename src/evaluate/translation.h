// Translation and other text-to-text models: loss, BLEU, chrF and TER against one or several references.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evaluate/evaluation.h"
#include "metrics/metric_text.h"

namespace regard::evaluate {

struct ScoringOptions {
  bool lowercase = false;
  metrics::MetricTokenizer tokenizer = metrics::MetricTokenizer::v13a;
};

// Translate the sources with model.options and score the outputs; an empty source has an empty translation
// and is excluded from the loss. Data: line-aligned files (source, then one or more references), or a table
// with columns in the same order, whose empty lines are skipped. Throws invalid_input with file and line for
// a source or a first reference that exceeds the model's maximum number of positions, and usage if there is
// no reference.
Evaluation translation(const Subject& subject, const DataOptions& data, const ScoringOptions& options);

}  // namespace regard::evaluate
