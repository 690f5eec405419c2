// A file in memory that has a path, for readers that open files by name.
#pragma once

#include <string>
#include <string_view>

namespace regard::serve {

class MemoryFile {
 public:
  // Throws resource_exhausted if the system cannot create the file.
  explicit MemoryFile(std::string_view content);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // path, which is valid in this process while the object exists
  const std::string& path() const { return path_; }

 private:
  int descriptor_ = -1;
  std::string path_;
};

}  // namespace regard::serve
