// Interface of a file of named tensors, in any format. The structure of the file is checked when it is
// opened; data is read on first access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/namespaces.h"
#include "regard/tensor.h"

namespace regard::base {
class MappedFile;
}

namespace regard::formats {

struct TensorEntry {
  std::string name;
  std::string dtype;                // dtype name as in safetensors, such as "BF16"
  std::vector<std::int64_t> shape;  // shape of any rank
  std::uint64_t begin = 0;          // byte offset from the start of the file
  std::uint64_t size = 0;           // size in bytes

  std::uint64_t elements() const noexcept;
};

// Immutable: any number of threads may read one object.
class TensorFile {
 public:
  virtual ~TensorFile() = default;

  virtual const std::filesystem::path& path() const noexcept = 0;
  // entries in file order; names are distinct
  virtual const std::vector<TensorEntry>& entries() const noexcept = 0;
  virtual const std::map<std::string, std::string>& metadata() const noexcept = 0;

  // Return the tensor as a read-only view that keeps the file mapped. If the tensor is unaligned or strided
  // in the file, return a copy. Throws bad_file if there is no such tensor, and for tensors that can only be
  // stored (more than eight dimensions, or a dtype without arithmetic).
  virtual Tensor tensor(std::string_view name) const = 0;
  // Release the memory pages of a mapped tensor, for example after the tensor was packed. Later reads load
  // the pages again.
  virtual void release(const TensorEntry& entry) const noexcept = 0;
};

// Shape and dtype of a tensor that supports arithmetic. usable_type() throws bad_file for an entry that can
// only be stored: one with more than eight dimensions, or with a dtype without arithmetic.
struct UsableType {
  DType dtype;
  Shape shape;
};
UsableType usable_type(const TensorEntry& entry, const std::string& file);

// Return the entry's tensor as a view that keeps the file mapped. If the data is unaligned, return a copy.
// The view is read-only: Parameter::mapped prevents writes to it. Throws as usable_type() does.
Tensor tensor_in(const std::shared_ptr<MappedFile>& file, const TensorEntry& entry);

// Return the DType with this safetensors name, or std::nullopt if the name is unknown or its dtype can only
// be stored (F4, C64, …).
std::optional<DType> dtype_of(const std::string& spelling) noexcept;
const char* spelling_of(DType dtype) noexcept;
// number of bits of one element; 0 for an unknown dtype name
unsigned bits_of(const std::string& spelling) noexcept;

// Index of entries by name. The entries must outlive the index, and their addresses must not change.
class EntryIndex {
 public:
  EntryIndex() = default;
  explicit EntryIndex(const std::vector<TensorEntry>& entries);
  const TensorEntry* find(std::string_view name) const;  // returns null if there is no such entry
  // Throws bad_file, naming the file, if there is no such entry.
  const TensorEntry& require(std::string_view name, const std::string& file) const;

 private:
  std::unordered_map<std::string_view, const TensorEntry*> entries_;
};

}  // namespace regard::formats
