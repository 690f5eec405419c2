// Word vectors, one row per word, as in published files. Words are byte strings and need not be UTF-8.
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
  automatic,        // detect from the content
  word2vec_text,    // a line "COUNT SIZE", then WORD and SIZE numbers per line; also fastText's .vec
  word2vec_binary,  // a line "COUNT SIZE", then WORD, a space and SIZE little-endian f32, repeated
  glove,            // no header; the size is that of most lines
  fasttext_binary,  // fastText's .bin: words and n-grams, so out-of-vocabulary words have vectors too
};

const char* name_of(Format format);              // "word2vec-binary"
Format format_of(std::string_view name);         // throws usage
const std::vector<std::string>& format_names();  // all formats, "auto" first

class WordVectors {
 public:
  // Read a file. A repeated word keeps its first vector, as in gensim; duplicates() counts the others. Throws
  // bad_file with the line (text) or byte (binary) of the damage: wrong counts, missing or extra numbers,
  // NaN, infinity. Sizes are checked before memory is allocated. Binary word2vec files stay mapped. Throws
  // io.
  static WordVectors load(const std::filesystem::path& path, ThreadPool& pool,
                          Format format = Format::automatic);
  // `values` [words, size]. Throws usage for repeated words and values that are not finite.
  WordVectors(std::span<const std::string> words, std::int64_t size, std::vector<float> values);

  std::size_t count() const noexcept { return norms_.size(); }
  std::int64_t size() const noexcept { return size_; }  // numbers per vector
  std::string_view word(std::size_t index) const;
  std::optional<std::size_t> find(std::string_view word) const;
  void copy(std::size_t index, float* to) const;  // the vector's size() numbers
  float norm(std::size_t index) const { return norms_[index]; }

  // Copy the word's vector; for an out-of-vocabulary word the mean of its n-grams' vectors if the file has
  // n-grams. Returns false if there is none.
  bool vector_of(std::string_view word, float* to) const;
  // Return the word's vector. Throws usage naming the word if there is none.
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
  std::vector<float> values_;          // [count, size]; if empty, the vectors are in `file_`:
  std::vector<std::uint64_t> places_;  // [count] byte offset of each vector in `file_`
  std::shared_ptr<const MappedFile> file_;
  std::vector<float> norms_;  // [count]
  Subwords subwords_;
  std::uint64_t subword_rows_ = 0;  // byte offset of the first n-gram's row in `file_`
};

}  // namespace regard::vectors
