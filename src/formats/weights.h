// All tensors of a model folder as one collection, from one file or from shards.
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

// Return true if a file name from a JSON file is plain: not empty, without a folder, not "." or "..".
bool plain_file_name(std::string_view name) noexcept;

// Immutable: any number of threads may read one object. The files are memory-mapped; open() reads only the
// headers.
class Weights {
 public:
  // Open the first of these files that exists: model.safetensors; model.safetensors.index.json and its
  // shards; pytorch_model.bin; pytorch_model.bin.index.json and its shards. An index must name each tensor of
  // each shard exactly once, and must name shards by plain file names. Throws bad_file for invalid files, io
  // if a file cannot be read.
  static Weights open(const std::filesystem::path& folder);
  // Open one file: safetensors if its name has that extension, else PyTorch's format.
  static Weights open_file(const std::filesystem::path& path);

  // Add the tensors of another file. They replace tensors of the same names.
  void replace_with(const std::filesystem::path& path);

  // Open the shards that an index names, which are in the folder of the index.
  static Weights open_index(const std::filesystem::path& path);

  // names of all tensors, file by file, in the order of each file
  const std::vector<std::string>& names() const noexcept { return names_; }
  bool contains(std::string_view name) const { return index_.contains(name); }
  const TensorEntry& entry(std::string_view name) const;  // throws bad_file if there is no such tensor
  Tensor tensor(std::string_view name) const;             // returns the tensor as TensorFile::tensor() does
  void release(std::string_view name) const;  // releases the tensor's pages as TensorFile::release() does
  // return a function that calls release(); it may be called after this object is destroyed
  std::function<void()> releaser(std::string_view name) const;

  const std::vector<std::shared_ptr<const TensorFile>>& files() const noexcept { return files_; }
  const std::string& label() const noexcept { return label_; }  // name of the file or index, for messages
  // size in bytes of all tensors in the files, including replaced tensors
  std::uint64_t bytes() const noexcept;

 private:
  const TensorFile& file_of(std::string_view name) const;
  void open_next(const std::filesystem::path& path);  // append a file to files_
  void add(const std::filesystem::path& path);

  std::string label_;
  std::vector<std::shared_ptr<const TensorFile>> files_;
  std::vector<std::string> names_;
  // For each tensor name: the index of its file in files_, and a pointer to the tensor's entry.
  std::unordered_map<std::string_view, std::pair<std::size_t, const TensorEntry*>> index_;
};

}  // namespace regard::formats
