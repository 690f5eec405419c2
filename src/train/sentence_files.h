// The files that a sentence-transformers folder has in addition to the encoder's. They specify how the
// encoder's states become one vector.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace regard::train {

struct SentenceFiles {
  std::string pooling = "mean";  // mean, cls or max
  bool normalize = true;
  std::int64_t hidden_size = 0, most_tokens = 0;

  // Names and contents: modules.json, 1_Pooling/config.json, …
  std::vector<std::pair<std::string, std::string>> files() const;
};

// Return true if modules.json of a folder names a dense layer after the pooling. False without that file.
// Throws bad_file if it is not a list of modules.
bool has_dense_module(const std::filesystem::path& folder);

}  // namespace regard::train
