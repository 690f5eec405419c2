// Temporary files and folders next to the path that they will replace. An entry is locked while its process
// uses it; an entry without a lock is a leftover of a killed process.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/namespaces.h"

namespace regard::base {

// Part of the name of every temporary entry. is_leftover() returns true if `name` is the name of a temporary
// entry.
constexpr const char* kLeftoverMark = ".regard-tmp-";
bool is_leftover(const std::filesystem::path& name);

// Return the name of a temporary entry next to `path`: ".NAME.regard-tmp-SUFFIX"; a long NAME is cut and
// hashed. Equal arguments give equal names, so leftovers of a crash are found again.
std::filesystem::path temporary_beside(const std::filesystem::path& path, const std::string& suffix = "");

// A new, empty, locked temporary file (open for writing, with the user's default mode) or folder next to
// `path`; the destructor removes it unless keep() was called. An entry with the same name that a killed
// process has left is removed first.
class TemporaryEntry {
 public:
  enum class Kind { file, folder };
  TemporaryEntry(const std::filesystem::path& path, Kind kind);  // creates the entry; throws io
  ~TemporaryEntry();
  TemporaryEntry(const TemporaryEntry&) = delete;
  TemporaryEntry& operator=(const TemporaryEntry&) = delete;

  const std::filesystem::path& name() const noexcept { return name_; }
  int descriptor() const noexcept { return descriptor_; }
  // Keep the entry after the caller has renamed it. Returns the descriptor, which is still locked; the caller
  // must close it.
  int keep() noexcept {
    name_.clear();
    return std::exchange(descriptor_, -1);
  }

 private:
  std::filesystem::path name_;
  int descriptor_ = -1;
};

}  // namespace regard::base
