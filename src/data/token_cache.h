// Token ids of corpora on disk: written once, then memory-mapped, so that the corpora may be larger than the
// memory. A cache is a folder that is created atomically:
//   I.ids      int32 token ids of store I, one sequence after another
//   I.offsets  uint64: the start of each sequence, and the number of ids
//   texts      JSON lines: lists of strings
//   about.json key, sizes and XXH3 of the files, and the caller's own data
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "data/token_store.h"

namespace regard::data {

struct TokenCache {
  std::vector<TokenStore> stores;               // token stores that read from mapped files
  std::vector<std::vector<std::string>> texts;  // the lists of strings, in the order in which they were added
  Json about;                                   // data that was passed to commit()
};

// Properties that a cache must have to be opened.
struct TokenCacheKey {
  std::uint64_t content = 0;         // hash of everything that determines the ids: texts, tokenizers, rules
  std::size_t stores = 0;            // number of token stores
  std::int64_t vocabulary_size = 0;  // all ids are below this number
};

class TokenCacheWriter {
 public:
  // Start to write a cache that commit() will move to `folder`, which must not exist. Missing parent folders
  // are created. Throws io.
  TokenCacheWriter(const std::filesystem::path& folder, const TokenCacheKey& key);

  // Append a sequence to a store, or a list of strings to the texts. Both functions throw io.
  void add(std::size_t store, std::span<const std::int32_t> ids);
  void add_text(const std::vector<std::string>& text);

  // Move the cache to its final name. Throws io, and usage if another process has created the folder
  // meanwhile.
  void commit(const Json& about);

 private:
  struct Store {
    std::unique_ptr<AtomicFile> ids, offsets;
    std::uint64_t count = 0;
  };
  static Json finish(AtomicFile& file);

  TokenCacheKey key_;
  AtomicFolder folder_;
  std::vector<Store> stores_;
  std::unique_ptr<AtomicFile> texts_;
};

// Open a cache, read all of its files and verify them. If the folder does not exist, return nullopt and clear
// `fault`. If the cache has another key or is damaged, return nullopt and set `fault` to the reason.
std::optional<TokenCache> open_token_cache(const std::filesystem::path& folder, const TokenCacheKey& key,
                                           std::string& fault);

// Return the XXH3 hash of a file's bytes, read once in constant memory. Throws io.
std::uint64_t content_hash(const std::filesystem::path& path);

}  // namespace regard::data
