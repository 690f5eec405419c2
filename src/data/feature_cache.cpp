#include "data/feature_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/counted.h"
#include "base/hash.h"
#include "base/json.h"
#include "regard/error.h"

namespace regard::data {
namespace {

constexpr std::int64_t kFeatureVersion = 1;
constexpr const char* kValues = "values";
constexpr const char* kOffsets = "offsets";
constexpr const char* kAboutFeatures = "about.json";

std::shared_ptr<const MappedFile> checked(const std::filesystem::path& folder, const char* file,
                                          const Json& files) {
  auto mapped = std::make_shared<const MappedFile>(folder / file);
  const std::string name = (folder / file).string();
  const Json entry = require<Json>(files, file, (folder / kAboutFeatures).string());
  if (mapped->bytes().size() != require<std::uint64_t>(entry, "bytes", name))
    throw file_error(name, "the length of the file has changed")
        .found(counted(mapped->bytes().size(), "byte"))
        .expected(counted(require<std::uint64_t>(entry, "bytes", name), "byte"));
  if (hex(xxh3(mapped->bytes())) != require<std::string>(entry, "xxh3", name))
    throw file_error(name, "the checksum of the file has changed")
        .found(hex(xxh3(mapped->bytes())))
        .expected(require<std::string>(entry, "xxh3", name));
  return mapped;
}

FeatureStore read_cache(const std::filesystem::path& folder, std::uint64_t key, std::int64_t columns,
                        std::size_t sounds) {
  const std::string name = (folder / kAboutFeatures).string();
  const Json about = read_json(name);
  if (require<std::int64_t>(about, "version", name) != kFeatureVersion ||
      require<std::string>(about, "key", name) != hex(key) ||
      require<std::int64_t>(about, "columns", name) != columns)
    throw file_error(name, "the cache was created from other data");
  const Json files = require<Json>(about, "files", name);
  const auto values = checked(folder, kValues, files), starts = checked(folder, kOffsets, files);
  std::vector<std::uint64_t> offsets(starts->bytes().size() / sizeof(std::uint64_t));
  std::memcpy(offsets.data(), starts->bytes().data(), offsets.size() * sizeof(std::uint64_t));
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(columns) * sizeof(float);
  if (offsets.size() != sounds + 1 || starts->bytes().size() % sizeof(std::uint64_t) != 0 ||
      offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()) ||
      values->bytes().size() % row_bytes != 0 || offsets.back() != values->bytes().size() / row_bytes)
    throw file_error((folder / kOffsets).string(), "the offsets of the cache do not match its values");
  return {columns, values, std::move(offsets)};
}

}  // namespace

FeatureStore::FeatureStore(std::int64_t columns, std::shared_ptr<const MappedFile> values,
                           std::vector<std::uint64_t> offsets)
    : columns_(columns), offsets_(std::move(offsets)), mapped_(std::move(values)) {}

void FeatureStore::add(const Tensor& features) {
  values_.insert(values_.end(), features.f32(), features.f32() + features.elements());
  offsets_.push_back(offsets_.back() + static_cast<std::uint64_t>(features.rows()));
}

Tensor FeatureStore::features(std::size_t i) const {
  Tensor copy = Tensor::empty({rows(i), columns_});
  const std::size_t first = offsets_[i] * static_cast<std::size_t>(columns_);
  const std::size_t bytes = static_cast<std::size_t>(copy.elements()) * sizeof(float);
  if (bytes == 0) return copy;
  const void* from = mapped_ == nullptr ? static_cast<const void*>(values_.data() + first)
                                        : mapped_->bytes().data() + first * sizeof(float);
  std::memcpy(copy.f32(), from, bytes);
  return copy;
}

FeatureCacheWriter::FeatureCacheWriter(const std::filesystem::path& folder, std::uint64_t key,
                                       std::int64_t columns)
    : key_(key),
      columns_(columns),
      folder_(folder),
      values_(std::make_unique<AtomicFile>(folder_.temporary() / kValues)),
      offsets_(std::make_unique<AtomicFile>(folder_.temporary() / kOffsets)) {
  offsets_->write(std::as_bytes(std::span(&rows_, 1)));
}

void FeatureCacheWriter::add(const Tensor& features) {
  values_->write(std::as_bytes(std::span(features.f32(), static_cast<std::size_t>(features.elements()))));
  rows_ += static_cast<std::uint64_t>(features.rows());
  offsets_->write(std::as_bytes(std::span(&rows_, 1)));
}

void FeatureCacheWriter::commit() {
  Json files = Json::object();
  for (const auto& [name, file] : {std::pair(kValues, values_.get()), std::pair(kOffsets, offsets_.get())}) {
    file->commit();
    files[name] = {{"bytes", file->size()}, {"xxh3", hex(file->xxh3())}};
  }
  const Json about{{"version", kFeatureVersion}, {"key", hex(key_)}, {"columns", columns_}, {"files", files}};
  write_file_atomically(folder_.temporary() / kAboutFeatures, about.dump(1));
  folder_.commit();
}

std::optional<FeatureStore> open_feature_cache(const std::filesystem::path& folder, std::uint64_t key,
                                               std::int64_t columns, std::size_t sounds, std::string& fault) {
  fault.clear();
  if (!std::filesystem::exists(folder)) return std::nullopt;
  try {
    return read_cache(folder, key, columns, sounds);
  } catch (const Error& error) {
    fault = error.what();
    return std::nullopt;
  }
}

}  // namespace regard::data
