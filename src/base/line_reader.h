// Reads lines of a file or of standard input, one at a time as they arrive, with line numbers. Files
// compressed with gzip or zstd are decompressed (base/input_stream.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/input_stream.h"
#include "base/namespaces.h"
#include "regard/error.h"

namespace regard::base {

// Handling of a line that is not UTF-8.
enum class BadUtf8 {
  refuse,     // throw bad_file with file, line and byte
  flag,       // return the line; valid() returns false, and bad_lines() counts the line
  flag_long,  // as flag; a line of more than kMaxLine bytes is flagged too, and returned as an empty line
  keep,       // return the line without a check
};

class LineReader {
 public:
  // maximum size of a line in bytes; a longer line throws bad_file, except with BadUtf8::flag_long
  static constexpr std::size_t kMaxLine = std::size_t{1} << 26;

  // "-" is standard input. Throws io if the file cannot be opened.
  explicit LineReader(const std::filesystem::path& path, BadUtf8 bad_utf8 = BadUtf8::refuse);

  // Read the next line without its line end ("\n" or "\r\n", optional for the last line); return false at the
  // end of the input. A byte order mark at the start of the input is removed.
  bool next(std::string& line);
  // Return the line end of the line read last: "\n", "\r\n", or "" if the input ends without one.
  std::string_view line_end() const noexcept { return line_end_; }
  // Return true if next() would return without waiting: a line or the end of the input has arrived. Does not
  // block.
  bool ready();

  // Set a function that ends the input: if a signal interrupts the wait for input and `stopped` then returns
  // true, next() returns false.
  void end_when(bool (*stopped)()) noexcept { input_.end_when(stopped); }

  std::int64_t line_number() const noexcept { return line_number_; }  // number of the line read last, from 1
  bool valid() const noexcept { return valid_; }  // true if the line read last is UTF-8 or was not checked
  Error fault() const;  // returns the error of the line read last; call only if valid() is false
  std::int64_t bad_lines() const noexcept { return bad_lines_; }
  const std::string& name() const noexcept { return input_.name(); }

 private:
  void fill();
  void check(const std::string& line);
  Error long_line_error(std::int64_t line) const;  // error for a line of more than kMaxLine bytes

  InputStream input_;
  BadUtf8 bad_utf8_;
  std::string buffer_;
  std::size_t begin_ = 0;     // offset of the first byte that is not yet returned
  std::size_t searched_ = 0;  // offset before which buffer_ contains no unread line end
  std::string_view line_end_;
  bool ended_ = false, valid_ = true;
  bool cut_ = false;        // true if the beginning of the next line was dropped because the line is too long
  bool long_line_ = false;  // true if the line read last was too long
  std::int64_t line_number_ = 0, bad_lines_ = 0;
};

}  // namespace regard::base
