// The task "language-model": predict the next token of running text or of records, with a decoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/task.h"

namespace regard::train {

const TaskTraits& language_model_traits();

// Return the generation_config.json of a folder. If the file does not exist, return the ids of special tokens
// in config.json, or null if there are none. The result is saved in checkpoints, so that generation ends at
// the folder's end tokens.
Json generation_of_folder(const formats::ModelFolder& folder);
// Return the end tokens that a generation_config.json lists.
std::vector<std::int32_t> end_tokens_of(const Json& generation);

// The corpora of a run. Training data and validation data are one token stream each.
struct StreamData {
  data::TokenStore train, valid;
  std::vector<std::size_t> ends;  // with data.weights: number of training tokens up to the end of each file
  std::vector<std::string> notes;
  std::uint64_t fingerprint = 0;
};
// Read and encode the corpora of a run. Throws as Task::load() does.
StreamData load_streams(const RunConfig& config, const Tokenizers& tokenizers, ThreadPool& pool);

}  // namespace regard::train
