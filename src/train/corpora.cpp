#include "train/corpora.h"

#include <algorithm>

#include "base/hash.h"
#include "base/utf8.h"
#include "train/task.h"

namespace regard::train {
namespace {

data::Faulty faulty(const std::string& text) {
  return text == "skip" ? data::Faulty::skip : data::Faulty::refuse;
}

// Maximum number of characters of a text; longer ones cannot be sentences of data.max_length tokens. Needed
// because a long unknown word is one token, and a long run of one letter may become few tokens.
std::size_t max_characters(const RunConfig& config) {
  constexpr std::size_t kCharactersOfAToken = 32;
  return kCharactersOfAToken *
         static_cast<std::size_t>(std::min(config.data.max_length, std::int64_t{1} << 40));
}

data::CorpusOptions corpus_options(const RunConfig& config, const std::vector<std::string>& files) {
  const CorpusRules& rules = task_traits(config.task).corpus;
  return {.files = files,
          .format = corpus_format(config, files[0]),
          .columns = config.data.columns,
          .empty = faulty(config.data.empty_lines),
          .bad_utf8 = faulty(config.data.bad_utf8),
          .header = config.data.header,
          .normalize_whitespace = rules.normalizes_whitespace && config.data.normalize_whitespace,
          .max_characters = rules.limits_length ? max_characters(config) : 0};
}

}  // namespace

data::CorpusFormat corpus_format(const RunConfig& config, const std::string& file) {
  const std::string& format = config.data.format;
  if (format == "tsv") return data::CorpusFormat::tsv;
  if (format == "csv") return data::CorpusFormat::csv;
  if (format == "jsonl") return data::CorpusFormat::jsonl;
  if (format == "lines") return data::CorpusFormat::lines;
  if (format == "text") return data::CorpusFormat::text;
  return data::format_of(file, task_traits(config.task).corpus.plain);
}

bool is_tabular(const RunConfig& config) {
  return data::has_columns(corpus_format(config, config.data.train[0]));
}

bool is_plain_text(const RunConfig& config) {
  return corpus_format(config, config.data.train[0]) == data::CorpusFormat::text;
}

RecordReader::RecordReader(const RunConfig& config, const std::vector<std::string>& files) : config_(config) {
  const bool in_turn = !task_traits(config.task).corpus.aligned &&
                       corpus_format(config, files.at(0)) == data::CorpusFormat::lines;
  if (in_turn) {
    for (const std::string& file : files) groups_.push_back({file});
  } else {
    groups_.push_back(files);
  }
  reader_ = std::make_unique<data::CorpusReader>(corpus_options(config, groups_[0]));
}

bool RecordReader::next() {
  while (!reader_->next(texts_)) {
    if (current_ + 1 == groups_.size()) return false;
    read_ = report();
    reader_ = std::make_unique<data::CorpusReader>(corpus_options(config_, groups_[++current_]));
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

TextSplit read_plain_text(const RunConfig& config) {
  TextSplit split;
  split.train = data::read_text(config.data.train, faulty(config.data.bad_utf8), split.report);
  if (!config.data.valid.empty()) {
    split.valid = data::read_text(config.data.valid, faulty(config.data.bad_utf8), split.report);
    return split;
  }
  const std::size_t characters = utf8::count(split.train);
  const auto kept =
      static_cast<std::size_t>(static_cast<double>(characters) * (1.0 - config.data.valid_fraction));
  std::size_t cut = 0;
  for (std::size_t i = 0; i < kept; ++i) cut += static_cast<std::size_t>(utf8::decode(split.train, cut).size);
  split.valid = split.train.substr(cut);
  split.train.resize(cut);
  return split;
}

}  // namespace regard::train
