// A text as numbers: what every trainer of word vectors reads. The text itself is read once; the numbers lie
// in a temporary file, so corpora may be larger than memory (its different words may not).
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
  blanks,  // whatever stands between white space
  words,   // runs of letters, marks and numbers; an apostrophe between letters belongs to the word
};

struct CorpusOptions {
  Split split = Split::blanks;
  bool lower_case = false;
  std::int64_t min_count = 5;        // rarer words are left out, as if they were not there
  std::size_t max_words = 0;         // keep the commonest; 0: all
  std::size_t max_sentence = 10000;  // words; a longer line is cut
  int phrase_passes = 0;             // joins words that stand together (phrases.h) this many times
  double phrase_threshold = 100.0;
  std::filesystem::path temporary = ".";  // folder for temporary files
};

constexpr std::int32_t kSentenceEnd = -1;

struct Corpus {
  std::vector<std::string> words;            // commonest first, of equally common ones by bytes
  std::vector<std::int64_t> counts;          // [words]
  std::int64_t tokens = 0;                   // of known words: the sum of counts
  std::int64_t tokens_read = 0;              // unknown ones included; a phrase counts as one
  std::shared_ptr<Spill<std::int32_t>> ids;  // words by number, kSentenceEnd after each sentence
};

// Throws usage if no word is common enough.
Corpus read_corpus(const text::LineSource& lines, const CorpusOptions& options);

// The words of a line, in order.
void split_line(const std::string& line, Split split, bool lower_case, std::vector<std::string>& words);

}  // namespace regard::vectors
