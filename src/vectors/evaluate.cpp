#include "vectors/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/parse_number.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "metrics/correlation.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  // If the line contains a tab, tabs separate the fields, and fields may contain spaces.
  const char* separators = line.find('\t') != std::string::npos ? "\t" : " ";
  std::vector<std::string> fields;
  std::size_t at = 0;
  while (at <= line.size()) {
    const std::size_t end = std::min(line.find_first_of(separators, at), line.size());
    if (end > at) fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  for (std::string& field : fields) {
    field.erase(0, std::min(field.find_first_not_of(' '), field.size()));
    field.erase(field.find_last_not_of(' ') + 1);
  }
  return fields;
}

// Looks up words with the options case_sensitive and restrict of the evaluation.
class Lookup {
 public:
  Lookup(const WordVectors& vectors, const EvaluationOptions& options)
      : vectors_(vectors), options_(options) {
    limit_ = options.restrict == 0 ? vectors.count() : std::min(options.restrict, vectors.count());
    if (options.case_sensitive) return;
    folds_.reserve(limit_);
    for (std::size_t i = 0; i < limit_; ++i) {
      const auto [entry, is_new] = by_fold_.try_emplace(fold(vectors.word(i)), i);
      folds_.push_back(entry->second);
      if (!is_new) siblings_[entry->second].push_back(i);
    }
  }
  std::optional<std::size_t> find(const std::string& word) const {
    if (!options_.case_sensitive) {
      const auto found = by_fold_.find(fold(word));
      return found == by_fold_.end() ? std::nullopt : std::optional(found->second);
    }
    const auto index = vectors_.find(word);
    return index && *index < limit_ ? index : std::nullopt;
  }
  // Return the first word of the file that equals word `index` except for case.
  std::size_t representative(std::size_t index) const {
    return options_.case_sensitive ? index : folds_[index];
  }
  // Append every word that equals word `index` except for case, including word `index` itself.
  void add_all_spellings(std::size_t index, std::vector<std::size_t>& list) const {
    list.push_back(index);
    const auto others = siblings_.find(index);
    if (others != siblings_.end()) list.insert(list.end(), others->second.begin(), others->second.end());
  }
  std::size_t limit() const { return limit_; }

 private:
  static std::string fold(std::string_view word) {
    return utf8::valid(word) ? lower_case(word) : std::string(word);
  }
  const WordVectors& vectors_;
  const EvaluationOptions& options_;
  std::size_t limit_ = 0;
  std::unordered_map<std::string, std::size_t> by_fold_;
  std::vector<std::size_t> folds_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> siblings_;
};

struct Asked {
  std::size_t section = 0, answer = 0;
};

// Return the error for a file in which no entry can be evaluated: the file is empty, or each entry has a word
// without a vector.
Error nothing_to_judge(const std::string& file, const std::string& what, std::int64_t unknown) {
  if (unknown == 0)
    return file_error(file, "no data to evaluate on")
        .expected("WORD WORD NUMBER per line, or analogies in the format of questions-words.txt");
  return usage_error("every " + what + " in " + file + " contains a word without a vector")
      .found(std::to_string(unknown) + " with such a word")
      .expected("at least 1 whose words all have vectors");
}

}  // namespace

EvaluationFile::EvaluationFile(const std::filesystem::path& file) : reader_(file) {
  std::string line;
  if (next(line)) first_ = line;
}

bool EvaluationFile::next(std::string& line) {
  if (!first_.empty()) {
    line = std::exchange(first_, "");
    return true;
  }
  while (reader_.next(line))
    if (!line.empty() && line.front() != '#') return true;
  return false;
}

PairsResult evaluate_pairs(const WordVectors& vectors, EvaluationFile&& file,
                           const EvaluationOptions& options) {
  const Lookup lookup(vectors, options);
  std::string line;
  std::vector<double> people, ours;
  std::vector<float> first(static_cast<std::size_t>(vectors.size())), second(first.size());
  PairsResult result;
  for (bool is_first = true; file.next(line); is_first = false) {
    const auto fields = fields_of(line);
    const auto value = fields.size() < 3 ? std::nullopt : parse_number<double>(fields[2]);
    if (!value || !std::isfinite(*value)) {
      if (is_first && fields.size() >= 3) continue;  // skip a header line
      throw Error(ErrorKind::bad_file, "invalid word pair", {file.name(), file.line_number(), -1})
          .found("'" + line.substr(0, 80) + "'")
          .expected("WORD WORD NUMBER");
    }
    const auto a = lookup.find(fields[0]), b = lookup.find(fields[1]);
    if (!a || !b) {
      ++result.unknown;
      continue;
    }
    vectors.copy(*a, first.data());
    vectors.copy(*b, second.data());
    people.push_back(*value);
    ours.push_back(cosine(first, second));
  }
  if (people.empty()) throw nothing_to_judge(file.name(), "pair", result.unknown);
  result.pairs = static_cast<std::int64_t>(people.size());
  result.spearman = metrics::spearman(people, ours);
  result.pearson = metrics::pearson(people, ours);
  return result;
}

std::vector<AnalogySection> evaluate_analogies(const WordVectors& vectors, EvaluationFile&& file,
                                               const EvaluationOptions& options, ThreadPool& pool) {
  const Lookup lookup(vectors, options);
  std::string line;
  std::vector<AnalogySection> sections;
  std::vector<Question> questions;
  std::vector<Asked> asked;
  const auto answer = [&] {
    const auto found = search(vectors, questions, 1, pool, options.method, lookup.limit());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      AnalogySection& section = sections[asked[i].section];
      ++section.asked;
      section.correct += !found[i].empty() && lookup.representative(found[i][0].index) == asked[i].answer;
    }
    questions.clear();
    asked.clear();
  };
  while (file.next(line)) {
    if (line.front() == ':') {
      sections.push_back({line.substr(std::min(line.find_first_not_of(": "), line.size()))});
      continue;
    }
    const auto fields = fields_of(line);
    if (fields.size() != 4 || sections.empty())
      throw Error(ErrorKind::bad_file,
                  sections.empty() ? "a section is missing before the first analogy" : "invalid analogy",
                  {file.name(), file.line_number(), -1})
          .found("'" + line.substr(0, 80) + "'")
          .expected(sections.empty() ? ": NAME" : "WORD WORD WORD WORD");
    Question question;
    std::optional<std::size_t> index[4];
    bool known = true;
    for (std::size_t i = 0; i < 4; ++i) known = (index[i] = lookup.find(fields[i])).has_value() && known;
    if (!known) {
      ++sections.back().unknown;
      continue;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<float> vector(static_cast<std::size_t>(vectors.size()));
      vectors.copy(*index[i], vector.data());
      (i == 0 ? question.negative : question.positive).push_back(std::move(vector));
      lookup.add_all_spellings(*index[i], question.excluded);
    }
    questions.push_back(std::move(question));
    asked.push_back({sections.size() - 1, *index[3]});
    if (questions.size() == 1024) answer();
  }
  answer();
  std::int64_t answered = 0, unknown = 0;
  for (const AnalogySection& section : sections) {
    answered += section.asked;
    unknown += section.unknown;
  }
  if (answered == 0) throw nothing_to_judge(file.name(), "analogy", unknown);
  return sections;
}

}  // namespace regard::vectors
