// Sentences with a label for each word, read from column files (CoNLL-U, CoNLL-2003 and similar formats) or
// from rows of a table with words and labels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/table.h"

namespace regard::data {

struct TaggedSentence {
  std::vector<std::string> words, tags;  // words and labels, lists of equal length
  Place place;                           // location of the sentence's first word
};

struct TaggedOptions {
  std::vector<std::string> files;
  // Column numbers from 1. CoNLL-U also has names (ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC).
  // Default: FORM and UPOS for CoNLL-U, otherwise the first and the last column.
  std::string word_column{}, tag_column{};
  // In CoNLL-U, lines that begin with # are comments, and lines of word ranges (3-4) and empty nodes (3.1)
  // are left out. `automatic` selects conllu if the file's name contains ".conllu", else plain.
  enum class Dialect { automatic, conllu, plain } dialect = Dialect::automatic;
  // Treatment of sentences with invalid UTF-8 (bad_utf8) or with a line that has too few columns (malformed).
  // Faulty::skip leaves out the whole sentence.
  Faulty bad_utf8 = Faulty::refuse;
  Faulty malformed = Faulty::refuse;
};

// Reads column files with one word per line. Columns are separated by tabs, or by spaces in a line without
// tabs. Sentences are separated by empty lines. Sentences that consist of the word -DOCSTART- are left out.
class TaggedReader {
 public:
  // Throws usage for an invalid column, io if a file cannot be opened.
  explicit TaggedReader(TaggedOptions options);
  ~TaggedReader();

  // Read the next sentence. Returns false at the end. Throws bad_file with file and line for a faulty
  // sentence that must not be skipped.
  bool next(TaggedSentence& sentence);
  const RowReport& report() const { return report_; }  // report on the sentences read so far
  // Return the index in TaggedOptions::files of the file that contains the last sentence read.
  std::size_t file_index() const { return opened_ - 1; }

 private:
  struct Source;
  void open();
  bool read_sentence(TaggedSentence& sentence);
  void add_word(TaggedSentence& sentence);

  TaggedOptions options_;
  std::unique_ptr<Source> source_;
  std::size_t opened_ = 0;  // number of files opened so far
  RowReport report_;
};

// Return the words and labels of a row. Both are read by TableRow::words(). Throws bad_file if their numbers
// differ.
TaggedSentence tagged_sentence(const TableRow& row, std::size_t words, std::size_t tags);

}  // namespace regard::data
