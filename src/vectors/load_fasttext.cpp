// Reads fastText's binary model format (version 12; facebookresearch/fastText, src/fasttext.cc and
// dictionary.cc): training arguments, dictionary, and the input matrix of words and n-gram buckets. Only the
// size of the output matrix is checked.
#include <cstring>

#include "regard/error.h"
#include "vectors/loader.h"

namespace regard::vectors {
namespace {

constexpr std::int32_t kVersion = 12;
// size in bytes of a dictionary entry with an empty word: terminator, count and type
constexpr std::size_t kSmallestEntry = 10;

class FasttextReader {
 public:
  FasttextReader(const Loader& loader, std::string_view bytes) : loader_(loader), bytes_(bytes) {}

  void read() {
    read_arguments();
    read_dictionary();
    read_matrix_head();
    pass_output_matrix();
  }

  std::int32_t dim = 0, bucket = 0, shortest = 0, longest = 0;
  std::vector<std::string_view> words;
  std::uint64_t rows_at = 0;  // byte offset of the first row
  std::int64_t rows = 0;

 private:
  template <class T>
  T next(const char* part) {
    if (bytes_.size() - at_ < sizeof(T))
      loader_.damaged_byte(at_, std::string("the file ends within ") + part);
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  void refuse_if(bool bad, const char* what, std::int64_t found) const {
    if (bad) loader_.damaged_byte(at_, what, std::to_string(found));
  }

  void read_arguments() {
    const char* part = "the training arguments";
    next<std::int32_t>(part);  // skip the magic number
    const auto version = next<std::int32_t>(part);
    refuse_if(version != kVersion, "unsupported version of fastText's format; 12 is supported", version);
    dim = next<std::int32_t>(part);
    for (int i = 0; i < 7; ++i) next<std::int32_t>(part);  // skip the training arguments
    bucket = next<std::int32_t>(part);
    shortest = next<std::int32_t>(part);
    longest = next<std::int32_t>(part);
    next<std::int32_t>(part);
    next<double>(part);
    refuse_if(dim < 1 || dim > (1 << 20), "the vector size is not between 1 and 1048576", dim);
    refuse_if(bucket < 0, "the number of buckets is negative", bucket);
    for (const std::int32_t length : {shortest, longest})
      refuse_if(length < 0 || length > 256, "an n-gram length is not between 0 and 256", length);
  }

  void read_dictionary() {
    const char* part = "the dictionary";
    const auto entries = next<std::int32_t>(part), known = next<std::int32_t>(part),
               labels = next<std::int32_t>(part);
    next<std::int64_t>(part);  // skip the number of tokens
    const auto pruned = next<std::int64_t>(part);
    refuse_if(known < 0 || labels < 0 || std::int64_t{known} + labels != entries,
              "the number of words and labels differs from the number of entries", entries);
    refuse_if(pruned > 0, "pruned models are not supported", pruned);
    refuse_if(static_cast<std::uint64_t>(entries) > (bytes_.size() - at_) / kSmallestEntry,
              "the file is too short for its dictionary", entries);
    const std::size_t begin = at_;
    for (std::int32_t i = 0; i < entries; ++i) {
      // Search only the first kLongestWord + 1 bytes. This limit on the length of a word also limits the
      // number of its n-grams.
      const std::size_t size = bytes_.substr(at_, kLongestWord + 1).find('\0');
      if (size == std::string_view::npos) loader_.damaged_byte(at_, "unterminated word");
      const std::string_view word = bytes_.substr(at_, size);
      at_ += size + 1;
      next<std::int64_t>(part);  // skip the word's count
      if (next<std::int8_t>(part) == 0) words.push_back(word);
    }
    if (static_cast<std::int32_t>(words.size()) != known)
      loader_.damaged_byte(begin, "the number of words differs from the header", std::to_string(words.size()),
                           std::to_string(known));
  }

  void read_matrix_head() {
    const char* part = "the header of the matrix";
    const auto quantized = next<std::uint8_t>(part);
    refuse_if(quantized != 0, "quantised models are not supported", quantized);
    rows = next<std::int64_t>(part);
    const auto columns = next<std::int64_t>(part);
    refuse_if(columns != dim, "the column count of the matrix differs from the vector size", columns);
    refuse_if(rows != static_cast<std::int64_t>(words.size()) + bucket,
              "the row count of the matrix differs from the number of words and buckets", rows);
    const std::size_t row_bytes = static_cast<std::size_t>(dim) * sizeof(float);
    refuse_if(static_cast<std::uint64_t>(rows) > (bytes_.size() - at_) / row_bytes,
              "the file is too short for its matrix", rows);
    rows_at = at_;
    at_ += static_cast<std::size_t>(rows) * row_bytes;
  }

  // Check that the output matrix is complete; otherwise the file is truncated. The values of the matrix are
  // not read.
  void pass_output_matrix() {
    if (at_ == bytes_.size()) return;  // the file contains only vectors
    const char* part = "the header of the output matrix";
    next<std::uint8_t>(part);  // skip the quantisation flag
    const auto outputs = next<std::int64_t>(part), columns = next<std::int64_t>(part);
    refuse_if(outputs < 0 || columns != dim,
              "the column count of the output matrix differs from the vector size", columns);
    const std::size_t left = bytes_.size() - at_, row_bytes = static_cast<std::size_t>(dim) * sizeof(float);
    refuse_if(left % row_bytes != 0 || left / row_bytes != static_cast<std::uint64_t>(outputs),
              "unexpected bytes after the output matrix", outputs);
  }

  const Loader& loader_;
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

void Loader::read_fasttext() {
  FasttextReader reader(*this, bytes_);
  reader.read();
  const auto size = static_cast<std::size_t>(reader.dim);
  const std::size_t row_bytes = size * sizeof(float);
  vectors_.file_ = file_;
  vectors_.size_ = reader.dim;
  vectors_.subword_rows_ = reader.rows_at + reader.words.size() * row_bytes;
  if (reader.longest > 0) vectors_.subwords_ = {reader.shortest, reader.longest, reader.bucket};
  for (std::int64_t row = 0; row < reader.rows; ++row)
    vectors_.places_.push_back(reader.rows_at + static_cast<std::uint64_t>(row) * row_bytes);
  check_finite_rows();

  // The vector of a word is the mean of its row and the rows of its n-grams.
  std::vector<std::int64_t> buckets;
  std::vector<float> sum(size), part(size), values;
  vectors_.words_.reserve(reader.words.size());
  values.reserve(reader.words.size() * size);
  for (std::size_t i = 0; i < reader.words.size(); ++i) {
    if (!add_word(reader.words[i])) continue;
    vectors_.subwords_.buckets_of(reader.words[i], buckets);
    vectors_.copy(i, sum.data());
    for (const std::int64_t bucket : buckets) {
      vectors_.copy(reader.words.size() + static_cast<std::size_t>(bucket), part.data());
      for (std::size_t at = 0; at < size; ++at) sum[at] += part[at];
    }
    for (const float value : sum) values.push_back(value / static_cast<float>(buckets.size() + 1));
  }
  vectors_.values_ = std::move(values);
  vectors_.places_.clear();
}

}  // namespace regard::vectors
