// The task "translation": pairs of a source and a target text, for encoder–decoders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "train/task.h"

namespace regard::train {

const TaskTraits& translation_traits();
std::unique_ptr<Task> make_translation(const RunConfig& config);

// The corpora of a run as pairs of token ids, both sides ending with the end token, and the validation pairs
// as text.
struct PairData {
  data::PairStore train, valid;
  std::vector<std::size_t> ends;  // of the pairs of each corpus of data.train
  std::vector<std::string> valid_sources, valid_targets;
  std::vector<std::string> notes;
  std::uint64_t fingerprint = 0;
};
// Throws as Task::load() does.
PairData load_pairs(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool);

}  // namespace regard::train
