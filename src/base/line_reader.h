// Reads lines of a file or of standard input, one at a time as they arrive, with line numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace regard {

// Handling of a line that is not UTF-8.
enum class BadUtf8 {
  refuse,  // throw bad_file with file, line and byte
  flag,    // return it; valid() is false and bad_lines() counts it
  keep,    // do not check
};

class LineReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{1} << 26;  // bytes; a longer line throws bad_file

  // "-" is standard input. Throws io if the file cannot be opened.
  explicit LineReader(const std::filesystem::path& path, BadUtf8 bad_utf8 = BadUtf8::refuse);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Read the next line without its "\n" or "\r\n"; false at the end. The last line may have no line end. A
  // byte order mark at the start of the input is removed.
  bool next(std::string& line);
  // Whether next() would return without waiting: a line or the end of the input has arrived. Does not block.
  bool ready();

  // If a signal interrupts the wait for input and `stopped` then returns true, next() returns false.
  void end_when(bool (*stopped)()) noexcept { stopped_ = stopped; }

  std::int64_t line_number() const noexcept { return line_number_; }  // of the last line, from 1
  bool valid() const noexcept { return valid_; }                      // whether that line is UTF-8
  std::int64_t bad_lines() const noexcept { return bad_lines_; }
  const std::string& name() const noexcept { return name_; }

 private:
  void fill();
  void check(const std::string& line);

  std::string name_;
  int descriptor_ = -1;
  BadUtf8 bad_utf8_;
  std::string buffer_;
  std::size_t begin_ = 0;     // start of the bytes not yet returned
  std::size_t searched_ = 0;  // no line end before this offset
  bool (*stopped_)() = nullptr;
  bool ended_ = false, valid_ = true;
  std::int64_t line_number_ = 0, bad_lines_ = 0;
};

}  // namespace regard
