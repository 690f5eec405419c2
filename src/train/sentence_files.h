// Files of a sentence-transformers folder in addition to those of the encoder. They specify how the hidden
// states of the encoder are converted to one vector.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace regard::train {

struct SentenceFiles {
  std::string pooling = "mean";  // pooling mode: mean, cls or max
  bool normalize = true;
  std::int64_t hidden_size = 0, most_tokens = 0;

  // Return the names and contents of the files: modules.json, 1_Pooling/config.json, …
  std::vector<std::pair<std::string, std::string>> files() const;
};

// Return true if the folder has a modules.json that contains a dense layer after the pooling. Throws bad_file
// if modules.json is not a list of modules.
bool has_dense_module(const std::filesystem::path& folder);

}  // namespace regard::train
