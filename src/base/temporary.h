// Temporary files and folders beside the path that they will replace. Each is locked while its process works
// on it, so that what a killed process left is told from what a living one is writing.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

namespace regard {

// Part of the name of everything temporary; is_leftover() tells whether `name` is such a thing.
constexpr const char* kLeftoverMark = ".regard-tmp-";
bool is_leftover(const std::filesystem::path& name);

// The name of a temporary entry beside `path`: ".NAME.regard-tmp-SUFFIX", a long NAME cut and hashed. Equal
// arguments give equal names, so what a crash left behind is found again.
std::filesystem::path temporary_beside(const std::filesystem::path& path, const std::string& suffix = "");

// A new, empty temporary file (open for writing, the mode of any new file of the user) or folder beside
// `path`, locked. A leftover of a dead process in its place is removed first. Destroyed before keep(), it is
// removed.
class TemporaryEntry {
 public:
  enum class Kind { file, folder };
  TemporaryEntry(const std::filesystem::path& path, Kind kind);  // throws io
  ~TemporaryEntry();
  TemporaryEntry(const TemporaryEntry&) = delete;
  TemporaryEntry& operator=(const TemporaryEntry&) = delete;

  const std::filesystem::path& name() const noexcept { return name_; }
  int descriptor() const noexcept { return descriptor_; }
  // The entry has another name now: it stays. Returns the descriptor, still locked, which the caller closes.
  int keep() noexcept {
    name_.clear();
    return std::exchange(descriptor_, -1);
  }

 private:
  std::filesystem::path name_;
  int descriptor_ = -1;
};

}  // namespace regard
