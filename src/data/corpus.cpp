#include "data/corpus.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/line_reader.h"
#include "base/plain_text.h"
#include "base/utf8.h"

namespace regard::data {
namespace {

TableOptions table_options(const CorpusOptions& options) {
  const bool one_per_file = !has_columns(options.format);
  if (!options.files.empty() && !one_per_file && options.columns.empty())
    throw usage_error("'columns' is empty for " + options.files[0])
        .remedy("Give the columns by number or by name");
  return {.files = options.files,
          .format = options.format,
          .columns = one_per_file ? std::vector<std::string>{} : options.columns,
          .delimiter = options.delimiter,
          .header = options.header ? Header::present : Header::automatic,
          .bad_utf8 = options.bad_utf8,
          .malformed = options.malformed,
          .blank = options.empty};
}

}  // namespace

CorpusReader::CorpusReader(CorpusOptions options)
    : options_(std::move(options)), table_(table_options(options_)) {
  width_ = table_.options().columns.size();
}

bool CorpusReader::next(std::vector<std::string>& texts) {
  texts.resize(width_);
  while (table_.next(row_)) {
    const bool readable = table_.report().read_or_skip(options_.malformed, row_, [&] {
      for (std::size_t i = 0; i < width_; ++i) {
        texts[i] = row_.text(i);
        if (options_.normalize_whitespace) texts[i] = normalize_whitespace(texts[i]);
      }
    });
    if (readable && keep(texts)) return true;
    --table_.report().records;
  }
  return false;
}

bool CorpusReader::keep(const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!keep_text(i, texts[i])) return false;
  return true;
}

Place CorpusReader::text_place(std::size_t column) const {
  if (options_.format == TableFormat::lines) return {options_.files[column], row_.line(), -1};
  return row_.place();
}

bool CorpusReader::keep_text(std::size_t column, const std::string& text) {
  if (options_.empty != Faulty::keep && is_blank(text)) {
    if (options_.empty == Faulty::refuse)
      throw Error(ErrorKind::bad_file, "a text of this row is empty", text_place(column))
          .remedy("Remove the row, or skip such rows with data.empty_lines = \"skip\"");
    table_.report().skip(SkipReason::empty, text_place(column));
    return false;
  }
  const std::size_t most = options_.max_characters;
  if (most == 0 || text.size() <= most || utf8::count(text) <= most) return true;
  table_.report().skip(SkipReason::too_long, text_place(column));
  return false;
}

TextReader::TextReader(std::vector<std::string> files, Faulty bad_utf8)
    : files_(std::move(files)), bad_utf8_(bad_utf8) {}

// Return the size in bytes of the next block in the buffer; 0 if more text must be read. A block ends at the
// last line end. Unless faulty lines are skipped, a long incomplete line is split after a complete character.
std::size_t TextReader::end_of_piece() {
  const std::size_t searched = std::exchange(searched_, buffer_.size());
  const std::size_t end = std::string_view(buffer_).substr(searched).rfind('\n');
  if (end != std::string_view::npos) return searched + end + 1;
  if (bad_utf8_ == Faulty::skip && buffer_.size() > LineReader::kMaxLine)
    throw Error(ErrorKind::bad_file, "the line is too long", {stream_->name(), line_ + 1, -1})
        .expected("at most " + std::to_string(LineReader::kMaxLine) + " bytes");
  if (bad_utf8_ == Faulty::skip || buffer_.size() < InputStream::kPiece) return 0;
  for (std::size_t back = 1; back <= 3; ++back) {
    const auto byte = static_cast<unsigned char>(buffer_[buffer_.size() - back]);
    if ((byte & 0xC0u) == 0x80u) continue;
    const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return size > back ? buffer_.size() - back : buffer_.size();
  }
  return buffer_.size();
}

void TextReader::keep_valid_lines(std::string& piece) {
  std::string kept;
  std::int64_t line = line_;
  for (std::size_t begin = 0; begin < piece.size();) {
    const std::size_t end = std::min(piece.find('\n', begin), piece.size() - 1) + 1;
    const std::string_view one = std::string_view(piece).substr(begin, end - begin);
    begin = end;
    ++line;
    if (utf8::valid(one)) {
      kept += one;
      continue;
    }
    if (bad_utf8_ == Faulty::refuse)
      throw Error(ErrorKind::bad_file, "the line is not UTF-8", {stream_->name(), line, -1})
          .remedy("Convert the file to UTF-8. To skip such lines in training, set data.bad_utf8 = \"skip\"");
    report_.skip(SkipReason::bad_utf8, {stream_->name(), line, -1});
  }
  piece = std::move(kept);
}

bool TextReader::next(std::string& piece) {
  piece.clear();
  while (piece.empty()) {
    std::size_t end = 0;
    bool whole = false;  // true if no file is open, or the current file has been read to its end
    while (end == 0) {
      whole = !stream_ || !stream_->read(buffer_);
      if (!whole && at_start_ && buffer_.size() < kByteOrderMark.size()) continue;
      if (at_start_ && buffer_.starts_with(kByteOrderMark)) buffer_.erase(0, kByteOrderMark.size());
      at_start_ = false;
      end = whole ? buffer_.size() : end_of_piece();
      if (end > 0 || !whole) continue;
      if (opened_ == files_.size()) return false;
      stream_ = std::make_unique<InputStream>(files_[opened_++]);
      at_start_ = true;
      line_ = 0;
    }
    piece.assign(buffer_, 0, end);
    buffer_.erase(0, end);
    searched_ = buffer_.size();
    const std::int64_t lines = std::count(piece.begin(), piece.end(), '\n');
    if (!utf8::valid(piece)) keep_valid_lines(piece);
    report_.records += std::count(piece.begin(), piece.end(), '\n');
    if (whole && !piece.empty() && piece.back() != '\n') ++report_.records;  // the last line has no line end
    line_ += lines;
  }
  return true;
}

std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report) {
  TextReader reader(files, bad_utf8);
  std::string text;
  for (std::string piece; reader.next(piece);) text += piece;
  report.add(reader.report());
  return text;
}

}  // namespace regard::data
