// Files of a sentence-transformers folder in addition to those of the encoder. They specify how the
// encoder's states become one vector.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace regard::train {

struct SentenceFiles {
  std::string pooling = "mean";  // one of mean, cls, max
  bool normalize = true;
  std::int64_t hidden_size = 0, most_tokens = 0;

  // Return names and contents: modules.json, 1_Pooling/config.json, …
  std::vector<std::pair<std::string, std::string>> files() const;
};

// Return true if modules.json of a folder names a dense layer after the pooling. Returns false if there is
// no such file. Throws bad_file if it is not a list of modules.
bool has_dense_module(const std::filesystem::path& folder);

}  // namespace regard::train
