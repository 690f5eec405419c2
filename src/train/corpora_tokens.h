// Encoded corpora of a run: in memory or, depending on data.cache, in the folder token-cache next to the run
// folder. The cache is written once and then memory-mapped (data/token_cache.h).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/token_cache.h"
#include "train/run_config.h"
#include "train/tokenizers.h"

namespace regard::train {

class EncodedCorpora {
 public:
  // Open the cache of this run's data, if there is one. `stores`: how many token stores the task fills. A
  // damaged cache is removed and noted.
  EncodedCorpora(const RunConfig& config, const Tokenizers& tokenizers, std::size_t stores);

  // Return true if a cache was opened. Otherwise the caller reads and encodes the corpora: add() all, then
  // finish().
  bool found() const { return found_; }
  void add(std::size_t store, std::span<const std::int32_t> ids);
  void add_text(std::vector<std::string> text);
  // Put the cache in place. `about`: further data to store in it, see about(). Throws io.
  void finish(const Json& about);

  // After finish(), or if found():
  data::TokenStore& store(std::size_t index) { return content_.stores[index]; }
  const std::vector<std::vector<std::string>>& texts() const { return content_.texts; }
  const Json& about() const { return content_.about; }
  // Messages for the user about the token cache, such as "token ids: from FOLDER". Empty if no cache is used.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void open();

  std::filesystem::path folder_;  // of the cache; empty: in memory
  data::TokenCacheKey key_;
  bool found_ = false, writes_ = false;
  std::unique_ptr<data::TokenCacheWriter> writer_;
  data::TokenCache content_;
  std::vector<std::string> notes_;
};

// Folder of the caches of runs whose folder has this parent.
std::filesystem::path token_cache_folder(const RunConfig& config);

// The value of data.cache in a dry run: caches are used but none is made.
constexpr const char* kReadCache = "read";

}  // namespace regard::train
