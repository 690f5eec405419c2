// State and helper functions shared by the readers of all word-vector formats. Only files in src/vectors
// include this header.
#pragma once

#include "vectors/word_vectors.h"

namespace regard::vectors {

// maximum length in bytes of a word in a binary file
constexpr std::size_t kLongestWord = std::size_t{1} << 16;

// The first line of a word2vec file.
struct Header {
  std::uint64_t count = 0, size = 0;
  std::size_t end = 0;  // byte offset of the end of the line; 0 if there is no header
};

class Loader {
 public:
  Loader(const std::filesystem::path& path, ThreadPool& pool);
  WordVectors load(Format format);

  [[noreturn]] void damaged_line(std::size_t line, const std::string& what, const std::string& found = "",
                                 const std::string& expected = "") const;
  [[noreturn]] void damaged_byte(std::uint64_t byte, const std::string& what, const std::string& found = "",
                                 const std::string& expected = "") const;

 private:
  Format guess() const;
  bool first_row_is_text() const;
  bool walks_as_binary(std::size_t row_bytes) const;
  void refuse_other_forms() const;
  WordVectors read(Format format);
  void read_text();
  void read_binary();
  void read_fasttext();
  // Add a word. Return false if the word was added before.
  bool add_word(std::string_view word);
  void check_count(std::uint64_t count) const;
  void check_finite_rows();

  std::shared_ptr<const MappedFile> file_;
  std::string_view bytes_;  // content of the file, without a byte order mark
  ThreadPool& pool_;
  Header header_;
  WordVectors vectors_;
};

// Parse the header of `bytes`. `end` of the result is 0 if there is no header.
Header header_of(std::string_view bytes);

// Return true if `line` (without its line end) consists of a word and `size` numbers.
bool holds_row(std::string_view line, std::size_t size);

}  // namespace regard::vectors
