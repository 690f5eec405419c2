#include "base/line_reader.h"

#include <utility>

#include "base/plain_text.h"
#include "base/utf8.h"
#include "regard/error.h"

namespace regard::base {

LineReader::LineReader(const std::filesystem::path& path, BadUtf8 bad_utf8)
    : input_(path), bad_utf8_(bad_utf8) {}

void LineReader::fill() {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() > kMaxLine) {
    if (bad_utf8_ != BadUtf8::flag_long) throw long_line_error(line_number_ + 1);
    buffer_.clear();
    searched_ = 0, cut_ = true;
  }
  ended_ = !input_.read(buffer_);
}

bool LineReader::ready() {
  while (true) {
    searched_ = buffer_.find('\n', searched_);
    if (searched_ != std::string::npos || ended_) return true;
    searched_ = buffer_.size();
    if (!input_.ready()) return false;
    fill();
  }
}

bool LineReader::next(std::string& line) {
  searched_ = buffer_.find('\n', searched_);
  while (searched_ == std::string::npos && !ended_) {
    searched_ = buffer_.size();
    fill();
    searched_ = buffer_.find('\n', searched_);
  }
  const bool whole = searched_ != std::string::npos;
  // The buffer contains the whole first line or the whole input, so a byte order mark is complete.
  if (line_number_ == 0 && begin_ == 0 && std::string_view(buffer_).starts_with(kByteOrderMark))
    begin_ = kByteOrderMark.size();
  if (!whole && begin_ == buffer_.size() && !cut_) {
    searched_ = begin_;
    return false;
  }
  const std::size_t end = whole ? searched_ : buffer_.size();
  line.assign(buffer_, begin_, end - begin_);
  line_end_ = whole ? "\n" : "";
  if (whole && line.ends_with('\r')) {
    line.pop_back();
    line_end_ = "\r\n";
  }
  begin_ = searched_ = whole ? end + 1 : end;
  ++line_number_;
  long_line_ = std::exchange(cut_, false);
  if (long_line_) line.clear();
  check(line);
  return true;
}

Error LineReader::long_line_error(std::int64_t line) const {
  return Error(ErrorKind::bad_file, "the line is too long", {name(), line, -1})
      .expected("at most " + std::to_string(kMaxLine) + " bytes");
}

Error LineReader::fault() const {
  return long_line_ ? long_line_error(line_number_)
                    : Error(ErrorKind::bad_file, "the line is not UTF-8", {name(), line_number_, -1});
}

void LineReader::check(const std::string& line) {
  valid_ = true;
  if (bad_utf8_ == BadUtf8::keep) return;
  const auto bad = utf8::first_bad_byte(line);
  valid_ = !bad && !long_line_;
  if (valid_) return;
  ++bad_lines_;
  if (bad && bad_utf8_ == BadUtf8::refuse)
    throw Error(ErrorKind::bad_file, "the line is not UTF-8",
                {name(), line_number_, static_cast<std::int64_t>(*bad)})
        .remedy("Convert the file to UTF-8");
}

}  // namespace regard::base
