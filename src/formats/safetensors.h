// Reads safetensors files by memory map, and writes them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/safetensors_header.h"
#include "regard/tensor.h"

namespace regard::formats {

// A memory-mapped file with a checked header. Its tensors are views that are read from disk on first access.
// Immutable: any number of threads may read one object.
class SafetensorsFile : public TensorFile {
 public:
  // Throws io if the file cannot be mapped, bad_file if its content is invalid.
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept override { return map_->path(); }
  const std::vector<TensorEntry>& entries() const noexcept override { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const noexcept override { return metadata_; }
  const SafetensorsHeader& header() const noexcept { return header_; }
  // returns null if there is no such tensor
  const TensorEntry* find(std::string_view name) const { return index_.find(name); }

  Tensor tensor(std::string_view name) const override;
  // Return the bytes of the entry in the file, for any dtype and rank.
  std::span<const std::byte> bytes(const TensorEntry& entry) const noexcept;
  void release(const TensorEntry& entry) const noexcept override;

 private:
  explicit SafetensorsFile(const std::filesystem::path& path);
  std::shared_ptr<MappedFile> map_;  // the mapped file; tensors share its ownership
  SafetensorsHeader header_;
  std::map<std::string, std::string> metadata_;
  EntryIndex index_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Size and checksum of a written file, for manifests.
struct FileDigest {
  std::uint64_t size = 0, xxh3 = 0;
};

// Write a file atomically, with the order (wide dtypes first, then by name) and padding of the reference
// implementation: equal tensors give equal bytes, and every tensor is aligned to its type. Rows may be
// strided. Throws usage for duplicate names, the name "__metadata__" or names that are not UTF-8; io as
// AtomicFile does.
FileDigest write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                             const std::map<std::string, std::string>& metadata = {});

}  // namespace regard::formats
