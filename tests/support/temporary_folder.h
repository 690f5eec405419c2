// Temporary folder of one test, removed by the destructor.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "support/namespaces.h"

namespace regard::testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    // Use a file system in memory if possible, because the tests call fsync() often, which takes seconds on a
    // busy disk.
    const std::filesystem::path memory = "/dev/shm";
    const bool use_memory = std::getenv("TMPDIR") == nullptr && ::access(memory.c_str(), W_OK | X_OK) == 0;
    const auto parent = use_memory ? memory : std::filesystem::temp_directory_path();
    std::string name = (parent / "regard-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace regard::testing
