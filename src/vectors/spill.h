// Records of one trivially copyable type in an unnamed temporary file; they are appended first, then read
// through a memory mapping. The file is removed with the object or when the process ends, even if the process
// is killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <type_traits>
#include <vector>

namespace regard::vectors {

class SpillFile {
 public:
  // Create the file in `folder`, which must exist. The constructor, append() and bytes() throw io.
  explicit SpillFile(const std::filesystem::path& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void append(std::span<const std::byte> bytes);
  std::uint64_t size() const noexcept { return size_; }  // size in bytes
  // Return everything written so far; valid until the next append().
  std::span<const std::byte> bytes();

 private:
  void flush();
  void unmap() noexcept;
  std::filesystem::path folder_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
  std::uint64_t size_ = 0, mapped_ = 0;
  std::byte* map_ = nullptr;
};

template <class T>
class Spill {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Spill(const std::filesystem::path& folder) : file_(folder) {}
  void append(std::span<const T> records) { file_.append(std::as_bytes(records)); }
  void append(const T& record) { append(std::span(&record, 1)); }
  std::uint64_t size() const noexcept { return file_.size() / sizeof(T); }  // number of records
  std::span<const T> records() {
    const auto bytes = file_.bytes();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  SpillFile file_;
};

}  // namespace regard::vectors
