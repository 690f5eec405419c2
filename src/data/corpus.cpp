#include "data/corpus.h"

#include <algorithm>

#include "base/input_stream.h"
#include "base/plain_text.h"
#include "base/utf8.h"

namespace regard::data {
namespace {

TableOptions table_options(const CorpusOptions& options) {
  const bool one_per_file = !has_columns(options.format);
  if (!options.files.empty() && !one_per_file && options.columns.empty())
    throw usage_error("'columns' is empty for " + options.files[0]);
  return {.files = options.files,
          .format = options.format,
          .columns = one_per_file ? std::vector<std::string>{} : options.columns,
          .header = options.header ? Header::present : Header::automatic,
          .bad_utf8 = options.bad_utf8,
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
    for (std::size_t i = 0; i < width_; ++i) {
      texts[i] = row_.text(i);
      if (options_.normalize_whitespace) texts[i] = normalize_whitespace(texts[i]);
    }
    if (keep(texts)) return true;
    --table_.report().records;
  }
  return false;
}

bool CorpusReader::keep(const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!keep_text(i, texts[i])) return false;
  return true;
}

Place CorpusReader::place(std::size_t column) const {
  if (options_.format == TableFormat::lines) return {options_.files[column], row_.line(), -1};
  return row_.place();
}

bool CorpusReader::keep_text(std::size_t column, const std::string& text) {
  if (options_.empty != Faulty::keep && is_blank(text)) {
    if (options_.empty == Faulty::refuse)
      throw Error(ErrorKind::bad_file, "the text of the line is empty", place(column))
          .remedy("Remove the pair, or skip such pairs with data.empty_lines = \"skip\"");
    table_.report().skip(SkipReason::empty, place(column));
    return false;
  }
  const std::size_t most = options_.max_characters;
  if (most == 0 || text.size() <= most || utf8::count(text) <= most) return true;
  table_.report().skip(SkipReason::too_long, place(column));
  return false;
}

std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report) {
  std::string text;
  for (const std::string& file : files) {
    const std::string bytes = read_decompressed(file);
    const std::string_view whole = without_byte_order_mark(bytes);
    if (utf8::valid(whole)) {
      text += whole;
      report.records += std::count(whole.begin(), whole.end(), '\n');
      continue;
    }
    std::int64_t line = 0;
    for (std::size_t begin = 0; begin < whole.size();) {
      const std::size_t end = std::min(whole.find('\n', begin), whole.size() - 1) + 1;
      const std::string_view one = whole.substr(begin, end - begin);
      ++line;
      if (utf8::valid(one)) {
        text += one;
        ++report.records;
      } else if (bad_utf8 == Faulty::refuse) {
        throw Error(ErrorKind::bad_file, "the line is not UTF-8", {file, line})
            .remedy("Convert the file to UTF-8, or skip such lines with data.bad_utf8 = \"skip\"");
      } else {
        report.skip(SkipReason::bad_utf8, {file, line, -1});
      }
      begin = end;
    }
  }
  return text;
}

}  // namespace regard::data
