// Encoded corpora of a run, in memory or in the folder token-cache next to the run folder (data.cache). The
// cache is written once and then memory-mapped (data/token_cache.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
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
  // Open the cache for this run's data, if there is one. A damaged cache is reported in notes(), and removed
  // unless data.cache is kReadCache. `stores` is the number of token stores that the task fills.
  EncodedCorpora(const RunConfig& config, const Tokenizers& tokenizers, std::size_t stores);

  // Return true if a cache was opened. If false, the caller must read and encode the corpora, add() all of
  // them, then call finish().
  bool found() const { return found_; }
  void add(std::size_t store, std::span<const std::int32_t> ids);
  void add_text(std::vector<std::string> text);
  // Move the complete cache to its final name. `about` is additional data to store in the cache; about()
  // returns it. Throws io, and bad_file if a file of the corpora has changed since the cache was begun. The
  // configuration and the tokenizers that the constructor received must still exist.
  void finish(const Json& about);

  // Return the token store with this index. Call this only after finish(), or if found() is true.
  data::TokenStore& store(std::size_t index) { return content_.stores[index]; }
  const std::vector<std::vector<std::string>>& texts() const { return content_.texts; }
  const Json& about() const { return content_.about; }
  // Messages for the user about the token cache, such as "token ids: read from FOLDER". Empty if no cache is
  // used.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void open();

  std::filesystem::path folder_;  // folder of the cache; empty if the ids are kept in memory
  data::TokenCacheKey key_;
  std::function<std::uint64_t()> content_now_;  // computes key_.content again
  bool found_ = false, writes_ = false;
  std::unique_ptr<data::TokenCacheWriter> writer_;
  data::TokenCache content_;
  std::vector<std::string> notes_;
};

// Return the folder of the token caches. Runs whose folders have the same parent share it.
std::filesystem::path token_cache_folder(const RunConfig& config);

// Value of data.cache in a dry run: existing caches are read, but no cache is written.
constexpr const char* kReadCache = "read";

}  // namespace regard::train
