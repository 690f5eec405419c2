#include "data/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/line_reader.h"
#include "base/plain_text.h"
#include "base/utf8.h"

namespace regard::data {
namespace {

std::string place_text(const Place& place) {
  return fmt::format("{}:{}", place.file, place.line);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::size_t column_number(const std::string& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0)
    throw usage_error("a TSV column is named by its number, from 1").found("'" + text + "'");
  return number - 1;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  while (true) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

struct CorpusReader::Source {
  LineReader reader;
  std::string line;
  explicit Source(const std::string& path) : reader(path, BadUtf8::flag) {}
  Place place() const { return {reader.name(), reader.line_number()}; }
};

CorpusFormat format_of(const std::string& path, CorpusFormat otherwise) {
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending == ".tsv") return CorpusFormat::tsv;
  if (ending == ".jsonl") return CorpusFormat::jsonl;
  return otherwise;
}

void CorpusReport::add(const CorpusReport& later) {
  if (empty == 0) first_empty = later.first_empty;
  if (bad_utf8 == 0) first_bad_utf8 = later.first_bad_utf8;
  if (too_long == 0) first_too_long = later.first_too_long;
  records += later.records, empty += later.empty, bad_utf8 += later.bad_utf8, too_long += later.too_long;
}

std::string CorpusReport::text() const {
  std::string text = fmt::format("{} records", records);
  if (empty > 0)
    text += fmt::format("; {} with an empty text left out (first: {})", empty, place_text(first_empty));
  if (bad_utf8 > 0)
    text += fmt::format("; {} that are not UTF-8 left out (first: {})", bad_utf8, place_text(first_bad_utf8));
  if (too_long > 0)
    text += fmt::format("; {} with too many characters left out (first: {})", too_long,
                        place_text(first_too_long));
  return text;
}

CorpusReader::CorpusReader(CorpusOptions options) : options_(std::move(options)) {
  if (options_.files.empty()) throw usage_error("a corpus needs at least one file");
  const bool aligned = options_.format == CorpusFormat::lines || options_.format == CorpusFormat::text;
  width_ = aligned ? options_.files.size() : options_.columns.size();
  if (width_ == 0) throw usage_error("'columns' names no column of " + options_.files[0]);
  if (options_.format == CorpusFormat::tsv) {
    const auto& columns = options_.columns;
    if (std::all_of(columns.begin(), columns.end(), is_number))
      for (const std::string& column : columns) column_numbers_.push_back(column_number(column));
    else
      options_.header = true;
  }
  for (const std::string& file : options_.files) sources_.push_back(std::make_unique<Source>(file));
}

CorpusReader::~CorpusReader() = default;

bool CorpusReader::next(std::vector<std::string>& texts) {
  texts.resize(width_);
  while (read(texts)) {
    if (!keep(texts)) continue;
    ++report_.records;
    return true;
  }
  return false;
}

bool CorpusReader::read(std::vector<std::string>& texts) {
  const bool aligned = options_.format == CorpusFormat::lines || options_.format == CorpusFormat::text;
  return aligned ? read_aligned(texts) : read_row(texts);
}

bool CorpusReader::read_aligned(std::vector<std::string>& texts) {
  std::size_t got = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) got += sources_[i]->reader.next(texts[i]) ? 1 : 0;
  if (got != 0 && got != sources_.size()) refuse_unequal();
  return got != 0;
}

void CorpusReader::refuse_unequal() {
  std::vector<std::string> counts;
  for (const auto& source : sources_) {
    while (source->reader.next(source->line)) {
    }
    counts.push_back(fmt::format("{}: {}", source->reader.name(), source->reader.line_number()));
  }
  const auto shortest = std::min_element(sources_.begin(), sources_.end(), [](const auto& a, const auto& b) {
    return a->reader.line_number() < b->reader.line_number();
  });
  throw Error(ErrorKind::bad_file, "line-aligned files have unequal numbers of lines", (*shortest)->place())
      .found(fmt::format("{}", fmt::join(counts, ", ")))
      .remedy("Line n of the one has to be the translation of line n of the other");
}

bool CorpusReader::read_row(std::vector<std::string>& texts) {
  const bool header = options_.header && options_.format == CorpusFormat::tsv;
  while (current_ < sources_.size()) {
    Source& now = *sources_[current_];
    if (!now.reader.next(now.line)) {
      ++current_;
      continue;
    }
    if (!header || now.reader.line_number() > 1) break;
    read_header();
  }
  if (current_ == sources_.size()) return false;
  const Source& source = *sources_[current_];
  if (!source.reader.valid()) return true;  // keep() handles it
  const Place place = source.place();
  if (options_.format == CorpusFormat::jsonl) {
    Json row;
    try {
      row = parse_json(source.line, place.file);
      for (std::size_t i = 0; i < width_; ++i)
        texts[i] = require<std::string>(row, options_.columns[i], place.file);
    } catch (const Error& error) {
      throw Error(ErrorKind::bad_file, error.message(), place).found("in this line");
    }
    return true;
  }
  read_columns(texts);
  return true;
}

void CorpusReader::read_header() {
  const Source& source = *sources_[current_];
  const std::vector<std::string_view> names = columns_of(source.line);
  header_width_ = names.size();
  if (std::all_of(options_.columns.begin(), options_.columns.end(), is_number)) return;
  column_numbers_.clear();
  for (const std::string& column : options_.columns) {
    const auto found = std::find(names.begin(), names.end(), column);
    if (found == names.end())
      throw Error(ErrorKind::bad_file, "no column is named '" + column + "'", source.place())
          .found(fmt::format("{}", fmt::join(names, ", ")))
          .remedy("Name columns as the first line does, or give their numbers, from 1");
    column_numbers_.push_back(static_cast<std::size_t>(found - names.begin()));
  }
}

void CorpusReader::read_columns(std::vector<std::string>& texts) {
  const Source& source = *sources_[current_];
  const std::vector<std::string_view> columns = columns_of(source.line);
  if (header_width_ > 0 && columns.size() != header_width_)
    throw Error(ErrorKind::bad_file, "the line has not as many columns as the first", source.place())
        .found(fmt::format("{} columns", columns.size()))
        .expected(std::to_string(header_width_));
  for (std::size_t i = 0; i < width_; ++i) {
    if (column_numbers_[i] >= columns.size())
      throw Error(ErrorKind::bad_file, fmt::format("there is no column {}", options_.columns[i]),
                  source.place())
          .found(fmt::format("{} columns", columns.size()));
    texts[i] = columns[column_numbers_[i]];
  }
}

bool CorpusReader::keep(std::vector<std::string>& texts) {
  const bool aligned = options_.format == CorpusFormat::lines || options_.format == CorpusFormat::text;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (!aligned && i != current_) continue;
    if (sources_[i]->reader.valid()) continue;
    const Place place = sources_[i]->place();
    if (options_.bad_utf8 == Faulty::refuse)
      throw Error(ErrorKind::bad_file, "the line is not UTF-8", place)
          .remedy("Convert the file, or leave such lines out with data.bad_utf8 = \"skip\"");
    if (report_.bad_utf8++ == 0) report_.first_bad_utf8 = place;
    return false;
  }
  if (options_.normalize_whitespace)
    for (std::string& text : texts) text = normalize_whitespace(text);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (!keep_text(texts[i], sources_[aligned ? i : current_]->place())) return false;
  return true;
}

bool CorpusReader::keep_text(const std::string& text, const Place& place) {
  if (options_.empty != Faulty::keep && is_blank(text)) {
    if (options_.empty == Faulty::refuse)
      throw Error(ErrorKind::bad_file, "the line's text is empty", place)
          .remedy("Remove the pair, or leave such pairs out with data.empty_lines = \"skip\"");
    if (report_.empty++ == 0) report_.first_empty = place;
    return false;
  }
  const std::size_t most = options_.max_characters;
  if (most == 0 || text.size() <= most || utf8::count(text) <= most) return true;
  if (report_.too_long++ == 0) report_.first_too_long = place;
  return false;
}

std::string read_text(const std::vector<std::string>& files, Faulty bad_utf8, CorpusReport& report) {
  std::string text;
  for (const std::string& file : files) {
    const std::string bytes = read_file(file);
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
            .remedy("Convert the file, or leave such lines out with data.bad_utf8 = \"skip\"");
      } else if (report.bad_utf8++ == 0) {
        report.first_bad_utf8 = {file, line};
      }
      begin = end;
    }
  }
  return text;
}

}  // namespace regard::data
