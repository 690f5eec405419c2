// Stores results that a client fetches with a second request. They are kept in memory under a random name and
// can be fetched for ten minutes. The next call after this time releases their memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace regard::serve {

// Files in memory by name. Thread-safe.
class FileStore {
 public:
  explicit FileStore(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Store a file and return its name: 32 random hexadecimal digits and the extension of `file_name`. While
  // the total exceeds `most_bytes`, the oldest of the other files are removed.
  std::string keep(std::string content, const std::string& file_name);
  std::optional<std::string> find(const std::string& name);

 private:
  struct File {
    std::string name, content;
    std::chrono::steady_clock::time_point kept;
  };
  void drop_old();

  std::size_t most_bytes_, bytes_ = 0;
  std::mutex guard_;
  std::deque<File> files_;  // files, the oldest first
};

}  // namespace regard::serve
