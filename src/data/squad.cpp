#include "data/squad.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/input_stream.h"
#include "base/json.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "data/table.h"

namespace regard::data {
namespace {

constexpr std::uint64_t kMostSquadBytes = std::uint64_t{1} << 30;

// Return the byte offset of a code point, or npos if the text is shorter.
std::size_t byte_of(const std::string& text, std::int64_t code_point) {
  std::size_t at = 0;
  for (; code_point > 0 && at < text.size(); --code_point)
    at += static_cast<std::size_t>(utf8::decode(text, at).size);
  return code_point > 0 ? std::string::npos : at;
}

void check_answer(const MarkedAnswer& answer, const std::string& context, const std::string& file) {
  const std::size_t begin = answer.start < 0 ? std::string::npos : byte_of(context, answer.start);
  if (answer.text.empty())
    throw file_error(file, "an answer is empty").remedy("Remove the answer from 'answers'");
  if (begin != std::string::npos && context.compare(begin, answer.text.size(), answer.text) == 0) return;
  Error error = file_error(file, "the context does not contain the answer at 'answer_start'")
                    .expected(fmt::format("\"{}\" at character {}", answer.text, answer.start));
  if (begin == std::string::npos)
    error.found(fmt::format("a context of {} characters", utf8::count(context)));
  else
    error.found(
        "\"" + context.substr(begin, byte_of(context.substr(begin), std::int64_t(utf8::count(answer.text)))) +
        "\"");
  throw error;
}

class SquadReader {
 public:
  SquadReader(const std::string& file, const QuestionOptions& options) : file_(file), options_(options) {}

  QuestionSet read_articles() {
    const Json whole = parse_json(without_byte_order_mark(bytes()), file_);
    const Json& articles = list(whole, "data", "");
    for (std::size_t a = 0; a < articles.size(); ++a) {
      const std::string at_article = fmt::format("data[{}]", a);
      const Json& paragraphs = list(articles[a], "paragraphs", at_article);
      const auto title = optional_value<std::string>(articles[a], "title", where(at_article));
      for (std::size_t p = 0; p < paragraphs.size(); ++p) {
        const std::string at = fmt::format("{}.paragraphs[{}]", at_article, p);
        set_.contexts.push_back({require<std::string>(paragraphs[p], "context", where(at)),
                                 title.value_or(""), static_cast<std::int64_t>(a)});
        const Json& questions = list(paragraphs[p], "qas", at);
        for (std::size_t q = 0; q < questions.size(); ++q)
          if (set_.report.read_or_skip(options_.malformed, *this,
                                       [&] { add(questions[q], fmt::format("{}.qas[{}]", at, q)); }))
            ++set_.report.records;
      }
    }
    return std::move(set_);
  }

  QuestionSet read_rows() {
    TableReader table({.files = {file_},
                       .format = TableFormat::jsonl,
                       .columns = {"context", "question"},
                       .optional_columns = {"answers", "id", "title"},
                       .malformed = options_.malformed,
                       .blank = Faulty::skip});
    for (TableRow row; table.next(row);) table.read_or_skip(row, [&] { add_row(row); });
    set_.report = table.report();
    return std::move(set_);
  }

  // location of a skipped question: only the file, because the parser reports no lines
  Place place() const { return {file_, -1, -1}; }

 private:
  std::string bytes() const { return read_decompressed(file_, kMostSquadBytes); }
  // Return "FILE: PATH" for messages; `path` is the location of a value in the JSON file.
  std::string where(const std::string& path) const { return path.empty() ? file_ : file_ + ": " + path; }

  const Json& list(const Json& object, const char* key, const std::string& path) const {
    static const Json none;
    const auto found = object.is_object() ? object.find(key) : object.end();
    const Json& value = found == object.end() ? none : *found;
    if (!value.is_array())
      throw file_error(where(path), fmt::format("there is no list '{}'", key))
          .found(describe(found == object.end() ? object : value))
          .expected("SQuAD's JSON: {\"data\": [{\"paragraphs\": [{\"context\", \"qas\": […]}]}]}");
    return value;
  }

  void add(const Json& value, const std::string& path) {
    const std::string at = where(path);
    const auto id = optional_value<std::string>(value, "id", at);
    MarkedQuestion question{id.value_or(std::to_string(set_.questions.size())),
                            require<std::string>(value, "question", at),
                            set_.contexts.size() - 1,
                            {}};
    if (!optional_value<bool>(value, "is_impossible", at).value_or(false)) {
      const Json& answers = list(value, "answers", path);
      for (const Json& answer : answers)
        question.answers.push_back(
            {require<std::string>(answer, "text", at), require<std::int64_t>(answer, "answer_start", at)});
    }
    for (const MarkedAnswer& answer : question.answers) check_answer(answer, set_.contexts.back().text, at);
    set_.questions.push_back(std::move(question));
  }

  void add_row(const TableRow& row) {
    const std::string at = fmt::format("{}:{}", row.file(), row.line());
    MarkedQuestion question{
        row.has(3) ? row.text(3) : std::to_string(set_.questions.size()), row.text(1), 0, {}};
    if (row.has(2)) {
      const Json answers = row.json(2);
      const auto texts = require<std::vector<std::string>>(answers, "text", at);
      const auto starts = require<std::vector<std::int64_t>>(answers, "answer_start", at);
      if (texts.size() != starts.size())
        throw row.error(2, "'text' and 'answer_start' have different lengths")
            .found(fmt::format("{} and {}", texts.size(), starts.size()));
      for (std::size_t i = 0; i < texts.size(); ++i) question.answers.push_back({texts[i], starts[i]});
    }
    const std::string& context = row.text(0);
    for (const MarkedAnswer& answer : question.answers) check_answer(answer, context, at);
    const std::string title = row.has(4) ? row.text(4) : "";
    const auto [found, added] = known_contexts_.try_emplace(context, set_.contexts.size());
    if (added) {
      const auto article = known_titles_.try_emplace(title.empty() ? context : title,
                                                     static_cast<std::int64_t>(known_titles_.size()));
      set_.contexts.push_back({context, title, article.first->second});
    }
    question.context = found->second;
    set_.questions.push_back(std::move(question));
  }

  std::string file_;
  QuestionOptions options_;
  QuestionSet set_;
  std::unordered_map<std::string, std::size_t> known_contexts_;
  std::unordered_map<std::string, std::int64_t> known_titles_;
};

}  // namespace

QuestionSet read_questions(const std::string& file, const QuestionOptions& options) {
  SquadReader reader(file, options);
  return format_of(file, TableFormat::text) == TableFormat::jsonl ? reader.read_rows()
                                                                  : reader.read_articles();
}

}  // namespace regard::data
