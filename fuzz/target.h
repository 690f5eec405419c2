// Contract of a fuzz target, unless its own comment states another: for any bytes, the reader returns, or
// throws a regard::Error of kind bad_file or io. Anything else is a finding: a crash, a hang, another
// exception, or an error of another kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "regard/error.h"

namespace regard::fuzz {

template <class Reader>
void must_return_or_blame_the_file(Reader&& reader) {
  try {
    reader();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_file && error.kind() != ErrorKind::io) std::abort();
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Return a folder in memory for readers that open files. It exists during the whole run.
inline const std::filesystem::path& folder() {
  static const std::filesystem::path path = [] {
    std::string name = "/dev/shm/regard-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return name;
  }();
  return path;
}

// Write a file without the syncs of an atomic write, which fuzzing does not need.
inline void put(const std::filesystem::path& path, std::string_view content) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(content.data(), 1, content.size(), file);
  std::fclose(file);
}

}  // namespace regard::fuzz
