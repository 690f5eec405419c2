// A corpus as word ids, which is the input of every trainer of word vectors. The text is read once and the
// ids are kept in a temporary file, so a corpus may be larger than the memory; its vocabulary must fit into
// memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "text/word_counts.h"
#include "vectors/spill.h"

namespace regard::vectors {

enum class Split {
  blanks,  // words are separated by white space
  // words are sequences of letters, marks and numbers; an apostrophe between letters is part of the word
  words,
};

struct CorpusOptions {
  Split split = Split::blanks;
  bool lower_case = false;
  std::int64_t min_count = 5;  // minimum count of a word; rarer words are removed before windows are formed
  std::size_t max_words = 0;   // maximum number of words; the most frequent ones are kept; 0 means no limit
  std::size_t max_sentence = 10000;  // maximum number of words per sentence; longer lines are divided
  int phrase_passes = 0;             // number of passes that join frequent word pairs (phrases.h)
  double phrase_threshold = 100.0;
  std::filesystem::path temporary = ".";  // folder for temporary files
};

constexpr std::int32_t kSentenceEnd = -1;

struct Corpus {
  std::vector<std::string> words;    // most frequent first; words with equal counts in byte order
  std::vector<std::int64_t> counts;  // [words]
  std::int64_t tokens = 0;           // number of known words in the corpus: the sum of `counts`
  // number of words read, including unknown words; a phrase is counted as one word
  std::int64_t tokens_read = 0;
  std::shared_ptr<Spill<std::int32_t>> ids;  // word ids, with kSentenceEnd after each sentence
};

// Throws usage if no word occurs min_count times, and io if a temporary file cannot be written.
Corpus read_corpus(const text::LineSource& lines, const CorpusOptions& options);

// Return the words of a line, in order.
void split_line(const std::string& line, Split split, bool lower_case, std::vector<std::string>& words);

}  // namespace regard::vectors
