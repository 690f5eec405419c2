// Stores the features of sounds in memory, or in a cache on disk that is written once and then memory-mapped.
// A cache is a folder that is created atomically:
//   values      f32, the rows of all sounds, one sound after another
//   offsets     uint64: the first row of each sound, and the number of rows
//   about.json  key, number of columns, sizes and XXH3 of the files
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/folder.h"
#include "regard/tensor.h"

namespace regard::data {

class FeatureStore {
 public:
  explicit FeatureStore(std::int64_t columns = 1) : columns_(columns) {}
  // A store that reads the files of a cache. The caller must have checked the files.
  FeatureStore(std::int64_t columns, std::shared_ptr<const MappedFile> values,
               std::vector<std::uint64_t> offsets);

  std::size_t size() const { return offsets_.size() - 1; }
  std::int64_t rows(std::size_t i) const { return static_cast<std::int64_t>(offsets_[i + 1] - offsets_[i]); }
  std::int64_t columns() const { return columns_; }
  void add(const Tensor& features);      // append features [rows, columns]; only for a store in memory
  Tensor features(std::size_t i) const;  // returns a copy [rows, columns]

 private:
  std::int64_t columns_;
  std::vector<std::uint64_t> offsets_{0};
  std::vector<float> values_;
  std::shared_ptr<const MappedFile> mapped_;  // the values if they are in a cache file; otherwise null
};

class FeatureCacheWriter {
 public:
  // Start to write a cache that commit() will move to `folder`, which must not exist. Missing parent folders
  // are created. Throws io.
  FeatureCacheWriter(const std::filesystem::path& folder, std::uint64_t key, std::int64_t columns);

  void add(const Tensor& features);  // append features [rows, columns]; throws io
  // Move the cache to its final name. Throws io, and usage if another process has created the folder
  // meanwhile.
  void commit();

 private:
  std::uint64_t key_, rows_ = 0;
  std::int64_t columns_;
  AtomicFolder folder_;
  std::unique_ptr<AtomicFile> values_, offsets_;
};

// Open a cache of `sounds` sounds, read all of its files and verify them. If the folder does not exist,
// return nullopt and clear `fault`. If the cache has another key or is damaged, return nullopt and set
// `fault` to the reason.
std::optional<FeatureStore> open_feature_cache(const std::filesystem::path& folder, std::uint64_t key,
                                               std::int64_t columns, std::size_t sounds, std::string& fault);

}  // namespace regard::data
