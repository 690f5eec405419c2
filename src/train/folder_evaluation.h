// Evaluating a model that lies in a folder: translations against references, running text by perplexity.
#pragma once

#include <string>
#include <vector>

#include "infer/loaded_model.h"
#include "train/bleu.h"
#include "train/chrf.h"
#include "train/evaluation.h"

namespace regard::train {

struct ParallelText {
  std::vector<std::string> sources;
  std::vector<std::vector<std::string>> references;  // [reference][line]
};

// Line-aligned files (source, then one or more references), or one TSV or JSONL file with its columns named
// in the same order; header: the first line of a TSV names its columns. Empty lines stay. Throws as
// data::CorpusReader does.
ParallelText read_parallel(const std::vector<std::string>& files, const std::vector<std::string>& columns,
                           bool header = false);

struct TranslationScores {
  LossSum loss;  // against the first reference
  std::vector<std::string> outputs;
  BleuScore bleu;
  double chrf = 0;
  std::string bleu_signature, chrf_signature;
};

struct ScoringOptions {
  bool lowercase = false;
  MetricTokenizer tokenizer = MetricTokenizer::v13a;
};

// Translates with model.options. An empty source has an empty translation and no part in the loss.
TranslationScores evaluate_translation(infer::LoadedModel& model, ThreadPool& pool, const ParallelText& text,
                                       const ScoringOptions& options);

// `context` 0: as many tokens as the model has positions, else 1024.
LossSum evaluate_text(infer::LoadedModel& model, ThreadPool& pool, const std::string& text,
                      std::int64_t context);

}  // namespace regard::train
