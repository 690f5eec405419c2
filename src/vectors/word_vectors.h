// WordVectors: one vector per word, read from a file of word2vec, fastText or GloVe, or given by the caller.
// Words are byte strings and need not be UTF-8.
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
  automatic,        // the format is detected from the content of the file
  word2vec_text,    // a line "COUNT SIZE", then lines with WORD and SIZE numbers; also fastText's .vec
  word2vec_binary,  // a line "COUNT SIZE", then for each word WORD, a space and SIZE little-endian f32
  glove,  // lines with WORD and numbers, without a header; the vector size is the most frequent size
  fasttext_binary,  // fastText's .bin: words and n-grams, so that out-of-vocabulary words have vectors too
};

const char* name_of(Format format);  // return the name, such as "word2vec-binary"
// Return the format with this name. Throws usage for an unknown name.
Format format_of(std::string_view name);
const std::vector<std::string>& format_names();  // return the names of all formats, "auto" first

class WordVectors {
 public:
  // Read a file. Sizes are checked before memory is allocated, and binary word2vec files remain mapped. If a
  // word is repeated, its first vector is used, as in gensim.
  // Throws io, and bad_file with the line (text) or byte (binary) of an error: wrong counts, missing or extra
  // numbers, NaN, infinity.
  static WordVectors load(const std::filesystem::path& path, ThreadPool& pool,
                          Format format = Format::automatic);
  // `values` is [words, size]. Throws usage for another number of values, for repeated words and for values
  // that are not finite.
  WordVectors(std::span<const std::string> words, std::int64_t size, std::vector<float> values);

  std::size_t count() const noexcept { return norms_.size(); }
  std::int64_t size() const noexcept { return size_; }  // number of elements of a vector
  std::string_view word(std::size_t index) const;
  std::optional<std::size_t> find(std::string_view word) const;
  void copy(std::size_t index, float* to) const;  // copies the size() elements of the vector
  // Return the Euclidean norm, at most the largest finite float.
  float norm(std::size_t index) const { return norms_[index]; }

  // Copy the word's vector to `to`; return false if the word has no vector. If the file has n-grams, the
  // vector of an out-of-vocabulary word is the mean of the vectors of its n-grams.
  bool vector_of(std::string_view word, float* to) const;
  // Return the word's vector. Throws usage if the word has no vector; the message names the word.
  std::vector<float> require(std::string_view word) const;

  Format format() const noexcept { return format_; }
  const std::string& name() const noexcept { return name_; }
  // number of repeated words that were ignored
  std::int64_t duplicates() const noexcept { return duplicates_; }
  bool has_subwords() const noexcept { return subwords_.buckets > 0; }

 private:
  friend class Loader;
  WordVectors() = default;
  const std::byte* row(std::size_t index) const noexcept;
  void measure(ThreadPool& pool);  // compute norms_

  Format format_ = Format::word2vec_text;
  std::string name_ = "word vectors";
  std::int64_t size_ = 0, duplicates_ = 0;
  text::Vocabulary words_;
  std::vector<float> values_;          // [count, size]; if empty, the vectors are in `file_`
  std::vector<std::uint64_t> places_;  // [count] byte offset of each vector in `file_`
  std::shared_ptr<const MappedFile> file_;
  std::vector<float> norms_;  // [count]
  Subwords subwords_;
  std::uint64_t subword_rows_ = 0;  // byte offset in `file_` of the row of the first n-gram bucket
};

}  // namespace regard::vectors
