#include "serve/file_store.h"

#include <random>

#include "base/hash.h"

namespace regard::serve {
namespace {

constexpr std::chrono::minutes kKept{10};

// The name must be unpredictable, because every client that knows it may read the file.
std::string random_name() {
  std::random_device device;
  const auto word = [&] { return std::uint64_t{device()} << 32 | device(); };
  return hex(word()) + hex(word());
}

// Return the extension, such as ".txt" for "letter.txt". Return "" unless the extension has at most 7
// characters, all of them letters or digits.
std::string ending_of(const std::string& file_name) {
  const std::size_t dot = file_name.rfind('.');
  if (dot == file_name.npos || file_name.size() - dot > 8) return {};
  for (std::size_t i = dot + 1; i < file_name.size(); ++i) {
    const char letter = file_name[i];
    if (!((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
          (letter >= '0' && letter <= '9')))
      return {};
  }
  return file_name.substr(dot);
}

}  // namespace

void FileStore::drop_old() {
  const auto now = std::chrono::steady_clock::now();
  while (!files_.empty() &&
         ((bytes_ > most_bytes_ && files_.size() > 1) || now - files_.front().kept > kKept)) {
    bytes_ -= files_.front().content.size();
    files_.pop_front();
  }
}

std::string FileStore::keep(std::string content, const std::string& file_name) {
  const std::lock_guard lock(guard_);
  bytes_ += content.size();
  files_.push_back(
      {random_name() + ending_of(file_name), std::move(content), std::chrono::steady_clock::now()});
  std::string name = files_.back().name;
  drop_old();
  return name;
}

std::optional<std::string> FileStore::find(const std::string& name) {
  const std::lock_guard lock(guard_);
  drop_old();
  for (const File& file : files_)
    if (file.name == name) return file.content;
  return std::nullopt;
}

}  // namespace regard::serve
