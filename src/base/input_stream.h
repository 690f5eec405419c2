// Reads the bytes of a file or of standard input as they arrive. Data compressed with gzip or zstd is
// recognised by its first bytes, regardless of the file's name, and decompressed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/decompress.h"
#include "base/namespaces.h"

namespace regard::base {

class InputStream {
 public:
  // maximum number of bytes that one read() reads from the file; for compressed data, also the maximum number
  // that it appends
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  // "-" is standard input. Throws io if the file cannot be opened.
  explicit InputStream(const std::filesystem::path& path);
  ~InputStream();
  InputStream(const InputStream&) = delete;
  InputStream& operator=(const InputStream&) = delete;

  // Append the next bytes to `to`, waiting at most once for input; return false at the end of the input. May
  // append nothing and return true. Throws io, and bad_file for compressed data that is corrupt, ends too
  // early, or has a format that this build cannot decompress.
  bool read(std::string& to);
  // Return true if read() would return without waiting.
  bool ready() const;

  // Set a function that ends the input: if a signal interrupts the wait for input and `stopped` then returns
  // true, there is no further input.
  void end_when(bool (*stopped)()) noexcept { stopped_ = stopped; }

  const std::string& name() const noexcept { return name_; }  // name of the input, for messages
  // Return true if the input is compressed. Valid after read() has appended bytes.
  bool compressed() const noexcept { return decompressor_ != nullptr; }

 private:
  bool fill();
  bool decide(bool ended);
  bool decompress(std::string& to);

  std::string name_;
  int descriptor_ = -1;
  bool (*stopped_)() = nullptr;
  std::string raw_;        // bytes read from the file
  std::size_t begin_ = 0;  // offset in raw_ of the first byte that is not yet consumed
  bool decided_ = false, ended_ = false, interrupted_ = false;
  std::unique_ptr<Decompressor> decompressor_;  // decompressor; null if the data is not compressed
  bool output_waits_ = false;  // true if the decompressor may produce more output without more input
};

// Return the whole file, decompressed; "-" is standard input. Throws as InputStream does, and bad_file if it
// is longer than `max_bytes` after decompression.
std::string read_decompressed(const std::filesystem::path& path, std::uint64_t max_bytes = ~std::uint64_t{0});

// Return true if `path` is a regular file. A pipe or a terminal can be read only once, so a function that
// reads only the first bytes of a file to detect its format would remove them from the input.
bool can_be_read_again(const std::filesystem::path& path) noexcept;

}  // namespace regard::base
