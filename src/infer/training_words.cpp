#include "infer/training_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <sstream>

#include "base/file.h"
#include "base/plain_text.h"
#include "regard/error.h"
#include "text/training_pipeline.h"
#include "text/unicode.h"

namespace regard::infer {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 26;

// The pre-tokenizer and the normalizer of training_words_text().
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

// Return true if the word has a letter or digit. All characters of a word are of one kind, so the first one
// decides.
bool counts(std::string_view word) {
  const std::u32string points = utf8::code_points(word);
  return std::ranges::any_of(points, [](char32_t c) { return text::unicode::is_word(c); });
}

}  // namespace

std::string training_words_text(const text::LineSource& texts, ThreadPool* pool) {
  std::string content;
  for (const text::WordCount& one : word_rule().count(texts, pool)) {
    if (!counts(one.word)) continue;
    content += fmt::format("{}\t{}\n", one.word, one.count);
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
    std::int64_t count = 0;
    const char* end = line.data() + line.size();
    const auto read = tab == line.npos ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                       : std::from_chars(line.data() + tab + 1, end, count);
    if (tab == 0 || read.ec != std::errc() || read.ptr != end || count < 1)
      throw Error(ErrorKind::bad_file, "expected a word, a tab and a count", {path.string(), number, -1});
    line.resize(tab);
    words.words_.insert(lower_case(line));
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
  for (std::size_t i = 0; i < text.size();) {
    // Words are cut as the rule above cuts them: runs of letters, marks and digits.
    const std::size_t begin = i;
    for (utf8::Decoded symbol; i < text.size(); i += static_cast<std::size_t>(symbol.size)) {
      symbol = utf8::decode(text, i);
      if (!symbol.valid || !text::unicode::is_word(symbol.value)) break;
    }
    if (i > begin) {
      if (!unseen(text.substr(begin, i - begin)).empty()) places.emplace_back(begin, i);
    } else {
      i += static_cast<std::size_t>(utf8::decode(text, i).size);
    }
  }
  return places;
}

std::vector<std::string> TrainingWords::unseen(std::string_view text) const {
  const std::string line(text);
  std::vector<std::string> found;
  std::unordered_set<std::string> named;  // in lower case
  for (const text::WordCount& one : word_rule().count(text::lines_of(std::span(&line, 1)), nullptr))
    if (counts(one.word) && !words_.contains(lower_case(one.word)) &&
        named.insert(lower_case(one.word)).second)
      found.push_back(one.word);
  const auto place = [&line](const std::string& word) { return line.find(word); };
  std::ranges::stable_sort(found, {}, place);
  return found;
}

}  // namespace regard::infer
