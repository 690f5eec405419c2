// The task "language-model": predict the next token of running text or of records, with a decoder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/task.h"

namespace regard::train {

const TaskTraits& language_model_traits();
std::unique_ptr<Task> make_language_model(const RunConfig& config);

// The corpora of a run. Training data and validation data are one token stream each.
struct StreamData {
  data::TokenStore train, valid;
  std::vector<std::string> notes;
  std::uint64_t fingerprint = 0;
};
// Read and encode the corpora of a run. Throws as Task::load() does.
StreamData load_streams(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool);

}  // namespace regard::train
