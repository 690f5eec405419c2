// Reads (but never writes) pytorch_model.bin, the output of torch.save() for a dictionary of tensors, with
// the restricted pickle reader. The file is a ZIP archive (since PyTorch 1.6) or has the older format: five
// pickles, then the storages.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/pickle.h"
#include "formats/tensor_file.h"

namespace regard::formats {

class TorchFile : public TensorFile {
 public:
  // Throws io if the file cannot be mapped. Throws bad_file if it is neither a ZIP archive nor in PyTorch's
  // legacy format, if its data is not little-endian, or if it is not a dictionary from names to tensors.
  static std::shared_ptr<const TorchFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept override { return map_->path(); }
  const std::vector<TensorEntry>& entries() const noexcept override { return entries_; }
  const std::map<std::string, std::string>& metadata() const noexcept override { return metadata_; }
  Tensor tensor(std::string_view name) const override;  // copies the elements of strided tensors
  void release(const TensorEntry& entry) const noexcept override;

 private:
  explicit TorchFile(const std::filesystem::path& path);
  void read_archive();
  void read_older_form();
  void take_tensors(const pickle::Object& root);
  void add(const std::string& name, const pickle::StoredTensor& tensor);

  std::shared_ptr<MappedFile> map_;  // the mapped file; tensors share its ownership
  std::string name_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>
      storages_;  // for each storage key, offset and size in bytes
  std::vector<TensorEntry> entries_;
  std::map<std::string, std::vector<std::int64_t>> strides_;  // strides of non-contiguous tensors
  std::map<std::string, std::string> metadata_;               // metadata of the file; always empty
  EntryIndex index_;
};

}  // namespace regard::formats
