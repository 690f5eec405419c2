#include "data/table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/counted.h"
#include "base/file.h"
#include "base/line_reader.h"
#include "base/parse_number.h"
#include "data/delimited.h"

namespace regard::data {
namespace {

std::size_t field_number(const std::string& text) {
  const std::size_t number = parse_number<std::size_t>(text).value_or(0);
  if (number == 0)
    throw usage_error("invalid column").found("'" + text + "'").expected("a name, or a number from 1");
  return number - 1;
}

bool in_parallel(const TableOptions& options) {
  return options.format == TableFormat::lines;
}
bool delimited(const TableOptions& options) {
  return options.format == TableFormat::tsv || options.format == TableFormat::csv;
}

void require_readable(const std::string& file) {
  if (file != "-" && ::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0)
    throw io_error(file, "cannot open", errno);
}

Delimited form_of(const TableOptions& options) {
  const bool quotes = options.format == TableFormat::csv;
  return {options.delimiter != '\0' ? options.delimiter : quotes ? ',' : '\t', quotes};
}

}  // namespace

bool is_column_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// An open file, read line by line or record by record.
struct TableReader::Source {
  std::optional<LineReader> lines;
  std::optional<FieldReader> records;
  std::string text;  // text of the current line

  Source(const std::string& path, const TableOptions& options) {
    if (delimited(options))
      records.emplace(path, form_of(options));
    else
      lines.emplace(path, BadUtf8::flag);
  }
  const std::string& name() const { return lines ? lines->name() : records->name(); }
  std::int64_t line() const { return lines ? lines->line_number() : records->line(); }
  bool valid() const { return lines ? lines->valid() : records->valid(); }
  bool blank() const { return lines ? text.empty() : records->blank(); }
  Place place() const { return {name(), line(), -1}; }
};

TableFormat format_of(const std::string& path, TableFormat otherwise) {
  std::filesystem::path name(path);
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  const std::string ending = name.extension().string();
  if (ending == ".tsv") return TableFormat::tsv;
  if (ending == ".csv") return TableFormat::csv;
  if (ending == ".jsonl" || ending == ".ndjson") return TableFormat::jsonl;
  return otherwise;
}

const char* format_name(TableFormat format) {
  // names of the formats, in the order of TableFormat
  constexpr const char* kNames[] = {"lines", "TSV", "CSV", "JSONL", "text"};
  return kNames[static_cast<std::size_t>(format)];
}

bool has_columns(TableFormat format) {
  return format != TableFormat::lines && format != TableFormat::text;
}

TableReader::TableReader(TableOptions options) : options_(std::move(options)) {
  if (options_.files.empty()) throw usage_error("expected at least one file of a table, found none");
  auto& columns = options_.columns;
  const std::size_t fixed = in_parallel(options_) ? options_.files.size() : 1;
  if (options_.format == TableFormat::jsonl && columns.empty())
    throw usage_error("'columns' is empty for " + options_.files[0]).remedy("Give the columns by name");
  if (!has_columns(options_.format)) {
    if (columns.empty())
      for (std::size_t i = 1; i <= fixed; ++i) columns.push_back(std::to_string(i));
    if (columns.size() != fixed)
      throw usage_error(in_parallel(options_)
                            ? "the number of columns differs from the number of line-aligned files"
                            : "a file of plain text cannot have several columns")
          .found(counted(columns.size(), "column"))
          .expected(counted(fixed, "column"));
  }
  if (delimited(options_)) {
    const bool named = !std::all_of(columns.begin(), columns.end(), is_column_number);
    if (options_.header == Header::automatic) options_.header = named ? Header::present : Header::absent;
    if (options_.header == Header::absent && named)
      throw usage_error("columns are given by name, but the files have no header")
          .remedy("Give the numbers of the columns, from 1");
    for (const std::string& column : columns)
      if (is_column_number(column)) field_number(column);
    if (form_of(options_).quotes && form_of(options_).delimiter == '"')
      throw usage_error("the delimiter of a CSV file cannot be a quotation mark")
          .remedy("Use another delimiter, such as ','");
    all_columns_ = columns.empty();
  }
  name_columns(columns);
  // Files that are read in order are opened one at a time, because a process can open only about 1000 files.
  for (const std::string& file : options_.files)
    if (in_parallel(options_) || sources_.empty()) {
      sources_.push_back(std::make_unique<Source>(file, options_));
    } else {
      require_readable(file);
      sources_.push_back(nullptr);
    }
}

TableReader::~TableReader() = default;

void TableReader::name_columns(const std::vector<std::string>& columns) {
  auto names = std::make_shared<std::vector<std::string>>(columns);
  names->insert(names->end(), options_.optional_columns.begin(), options_.optional_columns.end());
  required_ = columns.size();
  names_ = std::move(names);
}

std::size_t TableReader::column(const std::string& name) const {
  const auto found = std::find(names_->begin(), names_->end(), name);
  if (found == names_->end())
    throw usage_error("no column has the name '" + name + "'")
        .found(fmt::format("{}", fmt::join(*names_, ", ")));
  return static_cast<std::size_t>(found - names_->begin());
}

bool TableReader::next(TableRow& row) {
  while (true) {
    const Outcome outcome = in_parallel(options_) ? read_aligned(row) : read_line(row);
    if (outcome == Outcome::end) return false;
    if (outcome == Outcome::skipped) continue;
    ++report_.records;
    return true;
  }
}

void TableReader::start(TableRow& row, const Source& source) {
  row.names_ = names_;
  row.cells_.resize(names_->size());
  row.json_ = options_.format == TableFormat::jsonl;
  row.file_ = source.name();
  row.line_ = source.line();
  for (TableRow::Cell& cell : row.cells_) cell.present = false, cell.is_text = true;
}

TableReader::Outcome TableReader::read_aligned(TableRow& row) {
  std::size_t got = 0;
  for (const auto& source : sources_) got += source->lines->next(source->text) ? 1 : 0;
  if (got == 0) return Outcome::end;
  if (got != sources_.size()) refuse_unequal();
  for (const auto& source : sources_)
    if (skip_bad_utf8(*source)) return Outcome::skipped;
  start(row, *sources_[0]);
  for (std::size_t i = 0; i < row.cells_.size(); ++i) {
    row.cells_[i].present = true;
    row.cells_[i].text = sources_[i]->text;
  }
  return Outcome::row;
}

void TableReader::refuse_unequal() {
  std::vector<std::string> counts;
  for (const auto& source : sources_) {
    while (source->lines->next(source->text)) {
    }
    counts.push_back(fmt::format("{}: {}", source->name(), source->line()));
  }
  const auto shortest = std::min_element(sources_.begin(), sources_.end(),
                                         [](const auto& a, const auto& b) { return a->line() < b->line(); });
  throw Error(ErrorKind::bad_file, "line-aligned files have unequal numbers of lines", (*shortest)->place())
      .found(fmt::format("{}", fmt::join(counts, ", ")))
      .remedy("Line N of each file must correspond to line N of the other files");
}

bool TableReader::skip_bad_utf8(const Source& source) {
  if (source.valid()) return false;
  if (options_.bad_utf8 != Faulty::skip)
    throw Error(ErrorKind::bad_file, "the line is not UTF-8", source.place())
        .remedy("Convert the file to UTF-8. To skip such lines in training, set data.bad_utf8 = \"skip\"");
  report_.skip(SkipReason::bad_utf8, source.place());
  return true;
}

// Read the next line or record that is not a header into source().text or fields_. Returns false at the end
// of all files.
bool TableReader::next_line() {
  while (current_ < sources_.size()) {
    if (!sources_[current_])
      sources_[current_] = std::make_unique<Source>(options_.files[current_], options_);
    Source& now = source();
    if (now.lines ? now.lines->next(now.text) : now.records->next(fields_)) {
      if (!delimited(options_) || now.line() > 1) return true;
      header_.clear();
      if (options_.header != Header::present) return true;
      read_header();
      continue;
    }
    sources_[current_++] = nullptr;  // close the file
  }
  return false;
}

TableReader::Outcome TableReader::read_line(TableRow& row) {
  if (!next_line()) return Outcome::end;
  const Source& now = source();
  if (skip_bad_utf8(now)) return Outcome::skipped;
  if (options_.format != TableFormat::text && now.blank() && options_.blank != Faulty::keep) {
    if (options_.blank == Faulty::refuse)
      throw Error(ErrorKind::bad_file, "the line is empty", now.place())
          .remedy("Remove the line, or skip such lines with data.empty_lines = \"skip\"");
    report_.skip(SkipReason::empty, now.place());
    return Outcome::skipped;
  }
  const bool readable = report_.read_or_skip(options_.malformed, now, [&] {
    if (delimited(options_)) choose_columns();
    start(row, now);
    if (options_.format == TableFormat::jsonl) {
      read_json(row);
    } else if (delimited(options_)) {
      read_fields(row);
    } else {
      row.cells_[0].text = now.text;
      row.cells_[0].present = true;
    }
  });
  return readable ? Outcome::row : Outcome::skipped;
}

void TableReader::read_header() {
  const Source& now = source();
  if (!now.valid())
    throw Error(ErrorKind::bad_file, "the header is not UTF-8", now.place())
        .remedy("Convert the file to UTF-8");
  header_ = fields_;
  if (all_columns_ && names_->empty()) name_columns(header_);
  numbers_.clear();
  if (all_columns_ && header_ == *names_) {  // all columns are read in order, so duplicate names are allowed
    for (std::size_t i = 0; i < header_.size(); ++i) numbers_.emplace_back(i);
    return;
  }
  for (std::size_t i = 0; i < names_->size(); ++i) {
    const std::string& column = (*names_)[i];
    const auto found = std::find(header_.begin(), header_.end(), column);
    if (found != header_.end()) {
      if (std::find(found + 1, header_.end(), column) != header_.end())
        throw Error(ErrorKind::bad_file, "two columns have the name '" + column + "'", now.place())
            .found(fmt::format("{}", fmt::join(header_, ", ")))
            .remedy("Rename one of them, or give the number of the column, from 1");
      numbers_.push_back(static_cast<std::size_t>(found - header_.begin()));
    } else if (is_column_number(column)) {
      numbers_.push_back(field_number(column));
    } else if (i >= required_) {
      numbers_.push_back(std::nullopt);
    } else {
      throw Error(ErrorKind::bad_file, "no column has the name '" + column + "'", now.place())
          .found(fmt::format("{}", fmt::join(header_, ", ")))
          .remedy("Use the names of the first line, or column numbers from 1");
    }
  }
}

// Choose the columns of a file without a header.
void TableReader::choose_columns() {
  if (!header_.empty()) return;
  if (all_columns_ && names_->empty()) {
    std::vector<std::string> columns;
    for (std::size_t i = 1; i <= fields_.size(); ++i) columns.push_back(std::to_string(i));
    name_columns(columns);
  }
  if (numbers_.size() == names_->size()) return;
  numbers_.clear();
  for (const std::string& name : *names_)
    numbers_.push_back(is_column_number(name) ? std::optional(field_number(name)) : std::nullopt);
}

void TableReader::read_fields(TableRow& row) {
  const Source& now = source();
  if (const std::size_t field = now.records->malformed_field(); field > 0)
    throw Error(ErrorKind::bad_file,
                fmt::format("column {} has text after its closing quotation mark", field), now.place())
        .remedy("Write each quotation mark inside a quoted field twice");
  const std::size_t width = !header_.empty() ? header_.size() : all_columns_ ? names_->size() : 0;
  if (width > 0 && fields_.size() != width)
    throw Error(ErrorKind::bad_file, "the number of columns differs from that of the first line", now.place())
        .found(counted(fields_.size(), "column"))
        .expected(counted(width, "column"));
  for (std::size_t i = 0; i < row.cells_.size(); ++i) {
    TableRow::Cell& cell = row.cells_[i];
    cell.present = numbers_[i] && *numbers_[i] < fields_.size();
    if (cell.present)
      cell.text = fields_[*numbers_[i]];
    else if (i < required_)
      throw Error(ErrorKind::bad_file, fmt::format("the line has no column {}", (*names_)[i]), now.place())
          .found(counted(fields_.size(), "column"));
  }
}

void TableReader::read_json(TableRow& row) {
  if (source().blank()) {
    for (std::size_t i = 0; i < row.cells_.size(); ++i) {
      TableRow::Cell& cell = row.cells_[i];
      cell.given = cell.present = i < required_;
      cell.text.clear(), cell.value = nullptr;
    }
    return;
  }
  Json object;
  try {
    object = parse_json(source().text, row.file_);
  } catch (const Error& error) {
    throw Error(ErrorKind::bad_file, error.message(), row.place())
        .found(fmt::format("at byte {} of the line", error.place().byte));
  }
  if (!object.is_object())
    throw Error(ErrorKind::bad_file, "the line is not a JSON object", row.place())
        .found(describe(object))
        .expected("{\"COLUMN\": VALUE, …}");
  for (std::size_t i = 0; i < row.cells_.size(); ++i) {
    TableRow::Cell& cell = row.cells_[i];
    const auto found = object.find((*names_)[i]);
    if (found == object.end() && i < required_) {
      std::vector<std::string> keys;
      for (const auto& [key, value] : object.items()) keys.push_back(key);
      throw Error(ErrorKind::bad_file, "the object has no key '" + (*names_)[i] + "'", row.place())
          .found(fmt::format("{}", fmt::join(keys, ", ")))
          .remedy("Use the keys of the objects as column names");
    }
    cell.given = found != object.end();
    cell.present = cell.given && !found->is_null();
    cell.is_text = cell.present && !found->is_structured();
    cell.value = nullptr;
    if (!cell.present) continue;
    if (found->is_string()) {
      cell.text = found->get_ref<const std::string&>();
    } else {
      if (cell.is_text) cell.text = found->dump();
      cell.value = *found;
    }
  }
}

}  // namespace regard::data
