#include "data/tagged.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/counted.h"
#include "base/line_reader.h"
#include "base/plain_text.h"

namespace regard::data {
namespace {

constexpr std::array<const char*, 10> kConllu{"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                              "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
constexpr std::size_t kLast = ~std::size_t{0};

std::size_t column_of(const std::string& name, std::size_t otherwise) {
  if (name.empty()) return otherwise;
  const auto known = std::find(kConllu.begin(), kConllu.end(), name);
  if (known != kConllu.end()) return static_cast<std::size_t>(known - kConllu.begin());
  std::size_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  if (!is_column_number(name) || number == 0)
    throw usage_error("invalid column of a CoNLL file")
        .found("'" + name + "'")
        .expected("a number from 1, or a column name of CoNLL-U, such as FORM");
  return number - 1;
}

void split_columns(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  const bool tabs = line.find('\t') != std::string_view::npos;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(tabs ? '\t' : ' ', begin), line.size());
    if (tabs || end > begin) fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool is_range_or_empty_node(std::string_view id) {
  return id.find_first_of("-.") != std::string_view::npos && id[0] >= '0' && id[0] <= '9';
}

}  // namespace

struct TaggedReader::Source {
  LineReader reader;
  bool conllu;
  std::size_t word = 0, tag = 0;  // indices of the columns of words and labels, from 0
  std::string line;
  std::vector<std::string_view> fields;
  Source(const std::string& file, bool is_conllu) : reader(file, BadUtf8::flag), conllu(is_conllu) {}
  Place place() const { return {reader.name(), reader.line_number(), -1}; }
};

TaggedReader::TaggedReader(TaggedOptions options) : options_(std::move(options)) {
  if (options_.files.empty()) throw usage_error("expected at least one file of a corpus, found none");
  column_of(options_.word_column, 0), column_of(options_.tag_column, 0);
  open();
}

TaggedReader::~TaggedReader() = default;

void TaggedReader::open() {
  using Dialect = TaggedOptions::Dialect;
  const std::string& file = options_.files[opened_++];
  const bool conllu = options_.dialect == Dialect::conllu ||
                      (options_.dialect == Dialect::automatic && file.find(".conllu") != std::string::npos);
  source_ = std::make_unique<Source>(file, conllu);
  source_->word = column_of(options_.word_column, conllu ? 1 : 0);
  source_->tag = column_of(options_.tag_column, conllu ? 3 : kLast);
}

bool TaggedReader::next(TaggedSentence& sentence) {
  while (true) {
    if (read_sentence(sentence)) {
      if (sentence.words.empty() || (sentence.words.size() == 1 && sentence.words[0] == "-DOCSTART-"))
        continue;
      ++report_.records;
      return true;
    }
    if (opened_ == options_.files.size()) return false;
    open();
  }
}

// Read the lines of one sentence; a skipped sentence has no words. Returns false at the end of the file.
bool TaggedReader::read_sentence(TaggedSentence& sentence) {
  sentence = {};
  std::optional<Error> fault;
  SkipReason reason = SkipReason::malformed;
  bool any = false;
  while (source_->reader.next(source_->line)) {
    if (is_blank(source_->line)) {
      if (any) break;
      continue;
    }
    if (source_->conllu && source_->line[0] == '#') continue;
    any = true;
    if (fault) continue;
    try {
      add_word(sentence);
    } catch (const Error& error) {
      reason = source_->reader.valid() ? SkipReason::malformed : SkipReason::bad_utf8;
      if ((source_->reader.valid() ? options_.malformed : options_.bad_utf8) != Faulty::skip) throw;
      fault = error;
    }
  }
  if (fault) {
    report_.skip(reason, fault->place(), fault->message());
    sentence = {};
  }
  return any;
}

void TaggedReader::add_word(TaggedSentence& sentence) {
  Source& now = *source_;
  if (!now.reader.valid())
    throw Error(ErrorKind::bad_file, "the line is not UTF-8", now.place())
        .remedy(
            "Convert the file to UTF-8. To skip such sentences in training, set data.bad_utf8 = \"skip\"");
  split_columns(now.line, now.fields);
  if (now.conllu && is_range_or_empty_node(now.fields[0])) return;
  const std::size_t tag = now.tag == kLast ? now.fields.size() - 1 : now.tag, most = std::max(now.word, tag);
  if (now.fields.size() <= most || (now.tag == kLast && now.fields.size() < 2))
    throw Error(ErrorKind::bad_file, "the line has too few columns", now.place())
        .found(counted(now.fields.size(), "column"))
        .expected("at least " + counted(now.tag == kLast ? 2 : most + 1, "column"))
        .remedy("Give the columns of the word and of its label, and separate sentences by empty lines");
  if (sentence.words.empty()) sentence.place = now.place();
  sentence.words.emplace_back(now.fields[now.word]);
  sentence.tags.emplace_back(now.fields[tag]);
}

TaggedSentence tagged_sentence(const TableRow& row, std::size_t words, std::size_t tags) {
  TaggedSentence sentence{row.words(words), row.words(tags), row.place()};
  if (sentence.words.size() != sentence.tags.size())
    throw row.error(tags, "the numbers of words and labels differ")
        .found(fmt::format("{} and {}", counted(sentence.words.size(), "word"),
                           counted(sentence.tags.size(), "label")))
        .remedy("Separate words by single spaces. For a space inside a word, use a no-break space");
  return sentence;
}

}  // namespace regard::data
