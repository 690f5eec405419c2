#include "infer/training_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "base/parse_number.h"
#include "base/plain_text.h"
#include "regard/error.h"
#include "text/training_pipeline.h"
#include "text/unicode.h"

namespace regard::infer {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;

// The pre-tokenizer and the normalizer with which training_words_text() splits texts.
struct WordRule {
  std::unique_ptr<text::Normalizer> normalizer =
      text::read_normalizer(text::normalizer_json(true, false, false), text::kTrainedSource);
  text::PreTokenizerParts cutting = text::read_pre_tokenizer(
      text::word_rule_json(text::WordRule::signs, false), text::kTrainedSource, false);

  std::vector<text::WordCount> count(const text::LineSource& texts, ThreadPool* pool) const {
    return text::count_words(texts, normalizer.get(), cutting.pre_tokenizer.get(), pool);
  }
};

const WordRule& word_rule() {
  static const WordRule kRule;
  return kRule;
}

bool has_letter_or_digit(std::string_view word) {
  return std::ranges::any_of(utf8::code_points(word), [](char32_t c) {
    return text::unicode::is_letter(c) || text::unicode::is_number(c);
  });
}

bool is_symbol(std::string_view word) {
  using text::unicode::Category;
  const std::u32string points = utf8::code_points(word);
  if (points.size() != 1) return false;
  const Category category = text::unicode::category(points[0]);
  return category >= Category::symbol_math && category <= Category::symbol_other;
}

// Call `visit(word, count)` if the word has a letter or digit. Otherwise call it for each character of the
// word that is not a mark or joiner.
template <typename Visit>
void visit_words(const text::WordCount& one, const Visit& visit) {
  if (has_letter_or_digit(one.word)) return visit(one.word, one.count);
  for (const char32_t c : utf8::code_points(one.word))
    if (!text::unicode::is_word(c)) visit(utf8::encode(std::u32string_view(&c, 1)), one.count);
}

// Return the end of the word that begins at `begin`: a sequence of letters, marks and digits, or one other
// character, as in visit_words().
std::size_t end_of_word(std::string_view text, std::size_t begin) {
  std::size_t i = begin;
  for (utf8::Decoded symbol; i < text.size(); i += static_cast<std::size_t>(symbol.size)) {
    symbol = utf8::decode(text, i);
    if (!symbol.valid || !text::unicode::is_word(symbol.value)) break;
  }
  return i > begin ? i : begin + static_cast<std::size_t>(utf8::decode(text, begin).size);
}

}  // namespace

std::string training_words_text(const text::LineSource& texts, ThreadPool* pool) {
  std::map<std::string, std::int64_t> counts;
  for (const text::WordCount& one : word_rule().count(texts, pool))
    visit_words(one, [&counts](const std::string& word, std::int64_t count) { counts[word] += count; });
  std::string content;
  for (const auto& [word, count] : counts) {
    content += fmt::format("{}\t{}\n", word, count);
    if (content.size() > kMostBytes) return "";
  }
  return content;
}

std::optional<TrainingWords> TrainingWords::open(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kTrainingWordsFile;
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::istringstream content(read_file(path, kMostBytes + 1024));
  TrainingWords words;
  std::int64_t number = 0;
  for (std::string line; std::getline(content, line);) {
    ++number;
    const std::size_t tab = line.find('\t');
    const std::int64_t count =
        tab == line.npos ? 0 : parse_number<std::int64_t>(std::string_view(line).substr(tab + 1)).value_or(0);
    if (tab == 0 || count < 1)
      throw Error(ErrorKind::bad_file, "invalid line of a list of words", {path.string(), number, -1})
          .found(line)
          .expected("WORD<tab>COUNT, with a count of at least 1");
    line.resize(tab);
    if (!has_letter_or_digit(line)) words.has_signs_ = true;
    if (Spelling& known = words.words_[lower_case(line)]; known.count < count) known = {line, count};
    words.spellings_.insert(line);
  }
  return words;
}

std::optional<TrainingWords> TrainingWords::of_model(const std::filesystem::path& model) {
  if (auto words = open(model)) return words;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(model, error);
  if (error || folder.parent_path().filename() != "checkpoints") return std::nullopt;
  return open(folder.parent_path().parent_path());
}

std::vector<std::pair<std::size_t, std::size_t>> TrainingWords::unseen_places(std::string_view text) const {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = end_of_word(text, begin);
    if (!utf8::decode(text, begin).valid) continue;
    if (!unseen(text.substr(begin, end - begin)).empty()) places.emplace_back(begin, end);
  }
  return places;
}

std::vector<std::string> TrainingWords::words_of(std::string_view text) const {
  const std::string line(text);
  std::string normal;
  word_rule().normalizer->rewrite(line, normal);
  std::unordered_map<std::string_view, std::size_t> first;  // first place of each word in `normal`
  for (std::size_t begin = 0, end = 0; begin < normal.size(); begin = end) {
    end = end_of_word(normal, begin);
    first.try_emplace(std::string_view(normal).substr(begin, end - begin), begin);
  }
  std::vector<std::pair<std::size_t, std::string>> placed;
  std::unordered_set<std::string> named;
  for (const text::WordCount& one : word_rule().count(text::lines_of(std::span(&line, 1)), nullptr))
    visit_words(one, [&](const std::string& word, std::int64_t) {
      if (!named.insert(word).second) return;
      const auto found = first.find(word);
      placed.emplace_back(found != first.end() ? found->second : normal.find(word), word);
    });
  std::ranges::sort(placed);
  std::vector<std::string> words;
  for (auto& [place, word] : placed) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> TrainingWords::unseen(std::string_view text) const {
  std::vector<std::string> found;
  std::unordered_set<std::string> named;  // words added to the result so far, in lower case
  for (std::string& word : words_of(text)) {
    if (!has_letter_or_digit(word) && !(has_signs_ && is_symbol(word))) continue;
    if (!words_.contains(lower_case(word)) && named.insert(lower_case(word)).second)
      found.push_back(std::move(word));
  }
  return found;
}

std::vector<TrainingWords::Respelled> TrainingWords::in_other_case(std::string_view text) const {
  std::vector<Respelled> found;
  for (std::string& word : words_of(text))
    if (const auto known = words_.find(lower_case(word)); known != words_.end() && !spellings_.contains(word))
      found.push_back({std::move(word), known->second.word});
  return found;
}

}  // namespace regard::infer
