// The task "translation": translate a source text to a target text with an encoder–decoder.
#pragma once

#include <string>
#include <vector>

#include "data/token_store.h"
#include "train/task.h"

namespace regard::train {

const TaskTraits& translation_traits();

// The corpora of a run as pairs of token ids; sources and targets end with the end token. Validation pairs
// are stored as text too.
struct PairData {
  data::PairStore train, valid;
  std::vector<std::size_t> ends;  // number of training pairs up to the end of each corpus
  std::vector<std::string> valid_sources, valid_targets;
  std::vector<std::string> notes;
  std::uint64_t fingerprint = 0;
};
// Read and encode the corpora of a run. Throws as Task::load() does.
PairData load_pairs(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool);

}  // namespace regard::train
