#include "vectors/corpus.h"

#include <algorithm>
#include <numeric>

#include "base/plain_text.h"
#include "base/utf8.h"
#include "regard/error.h"
#include "text/unicode.h"
#include "text/vocabulary.h"
#include "vectors/phrases.h"

namespace regard::vectors {
namespace {

bool belongs(char32_t c) {
  if (c < 128) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return text::unicode::is_letter(c) || text::unicode::is_mark(c) || text::unicode::is_number(c);
}

bool is_apostrophe(char32_t c) {
  return c == '\'' || c == 0x2019;
}

// Return true if a letter, mark or number starts at `at`, the position after an apostrophe.
bool goes_on(const std::string& line, std::size_t at) {
  return at < line.size() && belongs(utf8::decode(line, at).value);
}

// Reads the whole corpus, before infrequent words are removed.
class Reader {
 public:
  explicit Reader(const CorpusOptions& options) : options_(options) {
    result_.ids = std::make_shared<Spill<std::int32_t>>(options.temporary);
  }

  RawCorpus read(const text::LineSource& lines) {
    std::string line;
    std::vector<std::string> words;
    std::size_t length = 0;
    while (lines(line)) {
      split_line(line, options_.split, options_.lower_case, words);
      for (const std::string& word : words) {
        if (length == options_.max_sentence) end_sentence(length);
        add(word);
        ++length;
      }
      if (length > 0) end_sentence(length);
    }
    for (std::int32_t id = 0; id < known_.end_id(); ++id) result_.words.emplace_back(*known_.token(id));
    return std::move(result_);
  }

 private:
  void add(const std::string& word) {
    auto id = known_.find(word);
    if (!id) {
      id = known_.end_id();
      known_.add(word, *id);
      result_.counts.push_back(0);
    }
    ++result_.counts[static_cast<std::size_t>(*id)];
    result_.ids->append(*id);
  }
  void end_sentence(std::size_t& length) {
    result_.ids->append(kSentenceEnd);
    length = 0;
  }

  const CorpusOptions& options_;
  text::Vocabulary known_;
  RawCorpus result_;
};

std::vector<std::int32_t> kept_words(const RawCorpus& raw, const CorpusOptions& options) {
  std::vector<std::int32_t> order(raw.words.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(
      order, [&](std::int32_t id) { return raw.counts[static_cast<std::size_t>(id)] < options.min_count; });
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
    return raw.counts[x] != raw.counts[y] ? raw.counts[x] > raw.counts[y] : raw.words[x] < raw.words[y];
  });
  if (options.max_words > 0 && order.size() > options.max_words) order.resize(options.max_words);
  return order;
}

}  // namespace

void split_line(const std::string& line, Split split, bool lower_case, std::vector<std::string>& words) {
  words.clear();
  std::string word;
  const auto finish = [&] {
    if (word.empty()) return;
    if (lower_case) word = base::lower_case(word);
    words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t at = 0; at < line.size();) {
    const utf8::Decoded code = utf8::decode(line, at);
    const auto size = static_cast<std::size_t>(code.size);
    const bool part =
        split == Split::blanks
            ? !(code.valid && utf8::is_space(code.value))
            : belongs(code.value) || (is_apostrophe(code.value) && !word.empty() && goes_on(line, at + size));
    if (part) {
      word.append(line, at, size);
    } else {
      finish();
    }
    at += size;
  }
  finish();
}

Corpus read_corpus(const text::LineSource& lines, const CorpusOptions& options) {
  RawCorpus raw = Reader(options).read(lines);
  for (int pass = 0; pass < options.phrase_passes; ++pass)
    raw = join_phrases(raw, {options.min_count, options.phrase_threshold}, options.temporary);
  Corpus corpus;
  std::vector<std::int32_t> renumbered(raw.words.size(), kSentenceEnd);
  for (const std::int32_t id : kept_words(raw, options)) {
    const auto place = static_cast<std::size_t>(id);
    renumbered[place] = static_cast<std::int32_t>(corpus.words.size());
    corpus.words.push_back(std::move(raw.words[place]));
    corpus.counts.push_back(raw.counts[place]);
    corpus.tokens += raw.counts[place];
  }
  if (corpus.words.empty())
    throw usage_error("no word of the corpus is frequent enough")
        .expected("a word that occurs at least " + std::to_string(options.min_count) + " times")
        .remedy("Lower --min-count, or use more text");
  corpus.ids = std::make_shared<Spill<std::int32_t>>(options.temporary);
  for (const std::int32_t id : raw.ids->records()) {
    if (id == kSentenceEnd) {
      corpus.ids->append(kSentenceEnd);
      continue;
    }
    ++corpus.tokens_read;
    const std::int32_t known = renumbered[static_cast<std::size_t>(id)];
    if (known != kSentenceEnd) corpus.ids->append(known);
  }
  return corpus;
}

}  // namespace regard::vectors
