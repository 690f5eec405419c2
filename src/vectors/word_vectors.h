// Word vectors: a word a row, as the published files have them. Whatever bytes a word has are kept; they need
// not be UTF-8.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/thread_pool.h"
#include "text/vocabulary.h"
#include "vectors/subwords.h"

namespace regard::vectors {

enum class Format {
  automatic,        // goes by what the file holds
  word2vec_text,    // a line "COUNT SIZE", then WORD and SIZE numbers a line; fastText's .vec is the same
  word2vec_binary,  // the same first line; each word ends with a space and little-endian f32 follow
  glove,            // no first line: the size is what most lines have
  fasttext_binary,  // fastText's .bin: words and n-grams; words outside the file have vectors too
};

const char* name_of(Format format);              // "word2vec-binary"
Format format_of(std::string_view name);         // throws usage
const std::vector<std::string>& format_names();  // every format's, "auto" first

class WordVectors {
 public:
  // Reads a file. A word given twice keeps its first vector, as in gensim; duplicates() counts the others.
  // Damage is refused (bad_file) with the line of a text file or the byte of a binary one: counts that do not
  // fit, missing or superfluous numbers, NaN and infinity. Sizes are checked before memory is asked for.
  // Binary word2vec files stay mapped. Throws io.
  static WordVectors load(const std::filesystem::path& path, ThreadPool& pool,
                          Format format = Format::automatic);
  // `values` [words, size]; a word given twice is refused (usage), as are values that are not finite.
  WordVectors(std::span<const std::string> words, std::int64_t size, std::vector<float> values);

  std::size_t count() const noexcept { return norms_.size(); }
  std::int64_t size() const noexcept { return size_; }  // of a vector
  std::string_view word(std::size_t index) const;
  std::optional<std::size_t> find(std::string_view word) const;
  void copy(std::size_t index, float* to) const;  // the vector's size() numbers
  float norm(std::size_t index) const { return norms_[index]; }

  // The word's vector; for a word that is not there the mean of its n-grams' if the file has n-grams. False
  // if there is none.
  bool vector_of(std::string_view word, float* to) const;
  // The same; throws usage naming the word.
  std::vector<float> require(std::string_view word) const;

  Format format() const noexcept { return format_; }
  const std::string& name() const noexcept { return name_; }
  std::int64_t duplicates() const noexcept { return duplicates_; }
  bool has_subwords() const noexcept { return subwords_.buckets > 0; }

 private:
  friend class Loader;
  WordVectors() = default;
  const std::byte* row(std::size_t index) const noexcept;
  void measure(ThreadPool& pool);  // norms

  Format format_ = Format::word2vec_text;
  std::string name_ = "word vectors";
  std::int64_t size_ = 0, duplicates_ = 0;
  text::Vocabulary words_;
  std::vector<float> values_;          // [count, size], or empty:
  std::vector<std::uint64_t> places_;  // [count] bytes from the start of `file_`
  std::shared_ptr<const MappedFile> file_;
  std::vector<float> norms_;  // [count]
  Subwords subwords_;
  std::uint64_t subword_rows_ = 0;  // byte of the first n-gram's row in `file_`
};

}  // namespace regard::vectors
