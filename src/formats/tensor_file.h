// A file of named tensors, whatever its format: checked in full when opened, read when touched.
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

#include "regard/tensor.h"

namespace regard::formats {

struct TensorEntry {
  std::string name;
  std::string dtype;                // safetensors' spelling: "BF16"
  std::vector<std::int64_t> shape;  // any rank
  std::uint64_t begin = 0;          // of its bytes, from the start of the file
  std::uint64_t size = 0;           // bytes

  std::uint64_t elements() const noexcept;
};

// Immutable, so any number of threads may read it.
class TensorFile {
 public:
  virtual ~TensorFile() = default;

  virtual const std::filesystem::path& path() const noexcept = 0;
  virtual const std::vector<TensorEntry>& entries() const noexcept = 0;  // by place; names differ
  virtual const std::map<std::string, std::string>& metadata() const noexcept = 0;

  // The tensor, read-only: a view that keeps the file mapped, or a copy where the file has it at an address
  // or in an order that cannot be used as it is. Throws bad_file for a name that is not there, and for what
  // can only be stored (more than eight dimensions, a dtype without arithmetic).
  virtual Tensor tensor(std::string_view name) const = 0;
  // The tensor's pages are no longer wanted in memory (it was packed elsewhere).
  virtual void release(const TensorEntry& entry) const noexcept = 0;
};

// Shape and dtype of an entry that can be computed with; throws bad_file for one that can only be stored.
struct UsableType {
  DType dtype;
  Shape shape;
};
UsableType usable_type(const TensorEntry& entry, const std::string& file);

// The entry's tensor as a view of `bytes` that `keeper` keeps alive, or a copy where they lie unaligned.
// Throws as usable_type().
Tensor tensor_at(std::span<const std::byte> bytes, const TensorEntry& entry, const std::string& file,
                 std::shared_ptr<void> keeper);

// The dtype that we compute with for a spelling, or nothing (F4, C64, … are only stored).
std::optional<DType> dtype_of(const std::string& spelling) noexcept;
const char* spelling_of(DType dtype) noexcept;
unsigned bits_of(const std::string& spelling) noexcept;  // of one element; 0 for an unknown spelling

// Finds entries by name; the entries must outlive it and stay where they are.
class EntryIndex {
 public:
  EntryIndex() = default;
  explicit EntryIndex(const std::vector<TensorEntry>& entries);
  const TensorEntry* find(std::string_view name) const;  // null: no such tensor
  // Throws bad_file naming the file.
  const TensorEntry& require(std::string_view name, const std::string& file) const;

 private:
  std::unordered_map<std::string_view, const TensorEntry*> entries_;
};

}  // namespace regard::formats
