// All tensors of a model folder as one collection, whether they lie in one file or in shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "formats/tensor_file.h"
#include "regard/tensor.h"

namespace regard::formats {

// The name of a file beside another, as a JSON file may give it: not empty, no folders, not "." or "..".
bool plain_file_name(std::string_view name) noexcept;

// Immutable; the files are mapped, so opening reads headers only.
class Weights {
 public:
  // Opens the first of these that is there: model.safetensors; model.safetensors.index.json and its shards;
  // pytorch_model.bin; pytorch_model.bin.index.json and its shards. An index must name each tensor of each
  // shard exactly once, and shards by plain names. Throws bad_file, io.
  static Weights open(const std::filesystem::path& folder);
  // One file: safetensors if its name ends so, else what PyTorch writes.
  static Weights open_file(const std::filesystem::path& path);

  // The shards that an index names; they lie beside it.
  static Weights open_index(const std::filesystem::path& path);

  const std::vector<std::string>& names() const noexcept { return names_; }  // file by file, by place
  bool contains(std::string_view name) const { return index_.contains(name); }
  const TensorEntry& entry(std::string_view name) const;        // throws bad_file if it is not there
  Tensor tensor(std::string_view name) const;                   // as TensorFile::tensor()
  void release(std::string_view name) const;                    // as TensorFile::release()
  std::function<void()> releaser(std::string_view name) const;  // release(), for when this is gone

  const std::vector<std::shared_ptr<const TensorFile>>& files() const noexcept { return files_; }
  const std::string& label() const noexcept { return label_; }  // the file or index, for messages
  std::uint64_t bytes() const noexcept;                         // of all tensors

 private:
  const TensorFile& file_of(std::string_view name) const;
  void add(const std::filesystem::path& path);

  std::string label_;
  std::vector<std::shared_ptr<const TensorFile>> files_;
  std::vector<std::string> names_;
  // Name to file and entry; views into the files' lists.
  std::unordered_map<std::string_view, std::pair<std::size_t, const TensorEntry*>> index_;
};

}  // namespace regard::formats
