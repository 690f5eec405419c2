// Sentences whose words have labels: column files (CoNLL-U; BIO files such as CoNLL-2003's), and rows of a
// table with words and labels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/table.h"

namespace regard::data {

struct TaggedSentence {
  std::vector<std::string> words, tags;  // equally many
  Place place;                           // of its first word
};

struct TaggedOptions {
  std::vector<std::string> files;
  // Numbers from 1; for CoNLL-U also its names (ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC). Empty:
  // FORM and UPOS for CoNLL-U, else the first and the last column.
  std::string word_column{}, tag_column{};
  // CoNLL-U: lines that begin with # are comments, and lines of word ranges (3-4) and empty nodes (3.1) are
  // left out. Automatic: if the file's name ends in .conllu.
  enum class Dialect { automatic, conllu, plain } dialect = Dialect::automatic;
  // `skip` leaves out the whole sentence. malformed: a line without the columns.
  Faulty bad_utf8 = Faulty::refuse;
  Faulty malformed = Faulty::refuse;
};

// Reads column files: one word a line, columns separated by tabs or, in a line without tabs, by spaces;
// sentences separated by empty lines. Sentences of the word -DOCSTART- alone are left out.
class TaggedReader {
 public:
  // Throws usage for an invalid column, io if a file cannot be opened.
  explicit TaggedReader(TaggedOptions options);
  ~TaggedReader();
  TaggedReader(const TaggedReader&) = delete;
  TaggedReader& operator=(const TaggedReader&) = delete;

  // Read the next sentence; false at the end. Throws bad_file with file and line.
  bool next(TaggedSentence& sentence);
  const RowReport& report() const { return report_; }  // of sentences

 private:
  struct Source;
  void open();
  bool read_sentence(TaggedSentence& sentence);
  void add_word(TaggedSentence& sentence);

  TaggedOptions options_;
  std::unique_ptr<Source> source_;
  std::size_t opened_ = 0;  // files opened so far
  RowReport report_;
};

// Return the words and labels of a row, as TableRow::words() reads them. Throws bad_file if their numbers
// differ.
TaggedSentence tagged_sentence(const TableRow& row, std::size_t words, std::size_t tags);

}  // namespace regard::data
