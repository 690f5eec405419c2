#include "train/corpora.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "train/task.h"

namespace regard::train {
namespace {

// Return the maximum number of characters of a text. This limit excludes very long texts with few tokens,
// which data.max_length permits: an unknown word of any length is one token.
std::size_t max_characters(const RunConfig& config) {
  constexpr std::size_t kCharactersOfAToken = 32;
  return kCharactersOfAToken *
         static_cast<std::size_t>(std::min(config.data.max_length, std::int64_t{1} << 40));
}

// Return true if the file is named in data.valid but not in data.train. Such a file may have a different
// format.
bool is_validation(const RunConfig& config, const std::string& file) {
  const auto names = [&file](const std::vector<std::string>& files) {
    return std::find(files.begin(), files.end(), file) != files.end();
  };
  return names(config.data.valid) && !names(config.data.train);
}

char delimiter(const std::string& text) {
  if (text.size() > 1)
    throw usage_error("'data.delimiter' is longer than one character")
        .found("'" + text + "'")
        .expected("one character, such as \";\"");
  return text.empty() ? '\0' : text[0];
}

bool has_own_columns(const RunConfig& config, const std::string& file) {
  return !config.data.valid_columns.empty() && is_validation(config, file);
}

// Return true if the file has a header line. data.valid_header applies to validation files; data.header
// applies to training files, and to validation files unless data.valid_columns is set.
bool has_header(const RunConfig& config, bool validation) {
  const DataConfig& data = config.data;
  if (validation && !data.valid_columns.empty()) return data.valid_header;
  return data.header || (validation && data.valid_header);
}

data::CorpusOptions corpus_options(const RunConfig& config, const std::vector<std::string>& files,
                                   bool validation) {
  const CorpusRules& rules = task_traits(config.task).corpus;
  const DataConfig& data = config.data;
  return {.files = files,
          .format = corpus_format(config, files[0]),
          .columns = corpus_columns(config, files[0]),
          .empty = faulty(data.empty_lines),
          .bad_utf8 = faulty(data.bad_utf8),
          .header = has_header(config, validation),
          .delimiter = delimiter(data.delimiter),
          .malformed = faulty(data.malformed),
          .normalize_whitespace = rules.normalizes_whitespace && data.normalize_whitespace,
          .max_characters = rules.limits_length ? max_characters(config) : 0};
}

}  // namespace

data::Faulty faulty(const std::string& text) {
  return text == "skip" ? data::Faulty::skip : data::Faulty::refuse;
}

data::CorpusFormat corpus_format(const RunConfig& config, const std::string& file) {
  const bool validation = is_validation(config, file) && config.data.valid_format != "same";
  const std::string& format = validation ? config.data.valid_format : config.data.format;
  if (format == "tsv") return data::CorpusFormat::tsv;
  if (format == "csv") return data::CorpusFormat::csv;
  if (format == "jsonl") return data::CorpusFormat::jsonl;
  if (format == "lines") return data::CorpusFormat::lines;
  if (format == "text") return data::CorpusFormat::text;
  return data::format_of(file, task_traits(config.task).corpus.plain);
}

const char* corpus_columns_key(const RunConfig& config, const std::string& file) {
  return has_own_columns(config, file) ? "data.valid_columns" : "data.columns";
}

const std::vector<std::string>& corpus_columns(const RunConfig& config, const std::string& file) {
  return has_own_columns(config, file) ? config.data.valid_columns : config.data.columns;
}

bool is_tabular(const RunConfig& config) {
  return data::has_columns(corpus_format(config, config.data.train[0]));
}

void check_text_column(const RunConfig& config) {
  for (const auto* files : {&config.data.train, &config.data.valid}) {
    if (files->empty() || !data::has_columns(corpus_format(config, files->front()))) continue;
    const std::size_t columns = corpus_columns(config, files->front()).size();
    if (columns != 1)
      throw usage_error(fmt::format("'{}' must name only the column of the text",
                                    corpus_columns_key(config, files->front())))
          .found(counted(columns, "column"))
          .expected("1 column");
  }
}

bool is_plain_text(const RunConfig& config) {
  return corpus_format(config, config.data.train[0]) == data::CorpusFormat::text;
}

std::vector<std::vector<std::string>> corpora_of(const RunConfig& config,
                                                 const std::vector<std::string>& files) {
  const CorpusRules& rules = task_traits(config.task).corpus;
  const data::CorpusFormat format = corpus_format(config, files.at(0));
  std::error_code ignored;
  const bool in_turn = format == data::CorpusFormat::text ||
                       (!rules.aligned && format == data::CorpusFormat::lines) ||
                       (rules.folders && std::filesystem::is_directory(files.at(0), ignored));
  std::size_t together = files.size();
  if (in_turn || data::has_columns(format))
    together = 1;
  else if (rules.files_of_lines > 0 && files.size() % rules.files_of_lines == 0)
    together = rules.files_of_lines;
  std::vector<std::vector<std::string>> groups;
  for (auto file = files.begin(); file != files.end(); file += static_cast<std::ptrdiff_t>(together))
    groups.emplace_back(file, file + static_cast<std::ptrdiff_t>(together));
  return groups;
}

data::TableOptions table_options(const RunConfig& config, const std::vector<std::string>& files) {
  const DataConfig& data = config.data;
  const data::TableFormat format = corpus_format(config, files.at(0));
  return {
      .files = files,
      .format = format,
      .columns = data::has_columns(format) ? corpus_columns(config, files[0]) : std::vector<std::string>{},
      .delimiter = delimiter(data.delimiter),
      .header = has_header(config, is_validation(config, files[0])) ? data::Header::present
                                                                    : data::Header::automatic,
      .bad_utf8 = faulty(data.bad_utf8),
      .malformed = faulty(data.malformed),
      .blank = faulty(data.empty_lines)};
}

RecordReader::RecordReader(const RunConfig& config, const std::vector<std::string>& files)
    : config_(config), groups_(corpora_of(config, files)), validation_(is_validation(config, files.at(0))) {
  reader_ = std::make_unique<data::CorpusReader>(corpus_options(config, groups_[0], validation_));
}

bool RecordReader::next() {
  while (!reader_->next(texts_)) {
    if (current_ + 1 == groups_.size()) {
      report().refuse_more_than(config_.data.max_skipped, "data.max_skipped");
      return false;
    }
    read_ = report();
    reader_ = std::make_unique<data::CorpusReader>(corpus_options(config_, groups_[++current_], validation_));
  }
  return true;
}

data::CorpusReport RecordReader::report() const {
  data::CorpusReport sum = read_;
  sum.add(reader_->report());
  return sum;
}

bool RecordReader::held_out() const {
  return is_held_out(config_, texts_[0]);
}

bool is_held_out(const RunConfig& config, const std::string& text) {
  constexpr std::uint64_t kParts = 1 << 20;
  if (!config.data.valid.empty()) return false;
  return static_cast<double>(xxh3(text) % kParts) < config.data.valid_fraction * static_cast<double>(kParts);
}

PlainText::PlainText(const RunConfig& config) : config_(config), split_(config.data.valid.empty()) {
  if (!split_) return;
  data::TextReader reader(config.data.train, faulty(config.data.bad_utf8));
  std::size_t characters = 0;
  for (std::string piece; reader.next(piece);) characters += utf8::count(piece);
  report_ = reader.report();
  kept_ = static_cast<std::size_t>(static_cast<double>(characters) * (1.0 - config.data.valid_fraction));
}

void PlainText::read(Part part, const std::function<void(std::string_view)>& take) {
  const bool own_files = part == Part::valid && !split_;
  data::TextReader reader(own_files ? config_.data.valid : config_.data.train, faulty(config_.data.bad_utf8));
  std::size_t read = 0;  // number of characters read so far
  for (std::string piece; reader.next(piece);) {
    const std::size_t before = read;
    read += split_ ? utf8::count(piece) : 0;
    std::size_t cut = piece.size();  // number of bytes of the piece that are for training
    if (split_ && read > kept_) {
      cut = 0;
      for (std::size_t i = before; i < kept_; ++i)
        cut += static_cast<std::size_t>(utf8::decode(piece, cut).size);
    }
    const std::string_view whole = piece;
    if (own_files)
      take(whole);
    else if (part == Part::train && cut > 0)
      take(whole.substr(0, cut));
    else if (part == Part::valid && cut < whole.size())
      take(whole.substr(cut));
    if (part == Part::train && cut < whole.size()) break;
  }
  if (!split_) report_.add(reader.report());
}

void PlainText::read_file(std::size_t file, const std::function<void(std::string_view)>& take) {
  data::TextReader reader({config_.data.train.at(file)}, faulty(config_.data.bad_utf8));
  for (std::string piece; reader.next(piece);) take(piece);
  report_.add(reader.report());
}

TextSplit read_plain_text(const RunConfig& config) {
  PlainText text(config);
  TextSplit split;
  text.read(PlainText::Part::train, [&split](std::string_view piece) { split.train += piece; });
  text.read(PlainText::Part::valid, [&split](std::string_view piece) { split.valid += piece; });
  split.report = text.report();
  return split;
}

}  // namespace regard::train
