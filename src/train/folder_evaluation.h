// Evaluation of a model in a folder: translations against references, or the perplexity of a running text.
#pragma once

#include <string>
#include <vector>

#include "infer/loaded_model.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "train/evaluation.h"

namespace regard::train {

struct ParallelText {
  std::vector<std::string> sources;
  std::vector<std::vector<std::string>> references;  // [reference][line]
};

// Read line-aligned files (source, then one or more references), or one TSV or JSONL file with columns in the
// same order. header: the first line of a TSV file names its columns. Empty lines are kept. Throws as
// data::CorpusReader does, usage if there is no reference, and bad_file if there is no line.
ParallelText read_parallel(const std::vector<std::string>& files, const std::vector<std::string>& columns,
                           bool header = false);

struct TranslationScores {
  LossSum loss;  // against the first reference
  std::vector<std::string> outputs;
  metrics::BleuScore bleu;
  double chrf = 0;
  std::string bleu_signature, chrf_signature;
};

struct ScoringOptions {
  bool lowercase = false;
  metrics::MetricTokenizer tokenizer = metrics::MetricTokenizer::v13a;
};

// Translate with model.options and score. An empty source gets an empty translation and is excluded from the
// loss.
TranslationScores evaluate_translation(infer::LoadedModel& model, ThreadPool& pool, const ParallelText& text,
                                       const ScoringOptions& options);

// The loss over a running text in windows of `context` tokens. 0: the model's number of positions, or 1024 if
// it has no limit. Throws usage if the context is larger than that limit or the text is too short.
LossSum evaluate_text(infer::LoadedModel& model, ThreadPool& pool, const std::string& text,
                      std::int64_t context);

}  // namespace regard::train
