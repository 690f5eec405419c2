#include "vectors/loader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/plain_text.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

static_assert(std::endian::native == std::endian::little,
              "binary vectors are little-endian and memory-mapped");

constexpr std::string_view kFasttextMagic("\xba\x16\x4f\x2f", 4);
constexpr std::uint64_t kLargestSize = 1 << 20;

// Return true if the line has control characters that do not occur in text.
bool looks_binary(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 32 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 127;
  });
}

// A file format that is not supported, but that users often give. The error message contains `name` and
// `remedy`.
struct OtherForm {
  std::string_view magic;
  const char *name, *remedy;
};
constexpr OtherForm pickle(std::string_view magic) {
  return {magic, "a Python pickle", "Load the vectors with gensim and save them with save_word2vec_format()"};
}
constexpr OtherForm kOthers[] = {
    {std::string_view("\x1f\x8b", 2), "a file compressed with gzip", "Unpack it first: gunzip FILE"},
    {std::string_view("PK\x03\x04", 4), "a zip archive", "Unpack it first: unzip FILE"},
    pickle("\x80\x02"),
    pickle("\x80\x03"),
    pickle("\x80\x04"),
    pickle("\x80\x05"),
    {std::string_view("\x93NUMPY", 6), "a numpy array",
     "A numpy array contains no words. Write a text file with one word and its numbers per line"},
};

bool all_finite(const std::byte* row, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, row + i * sizeof bits, sizeof bits);
    if ((bits & 0x7F800000u) == 0x7F800000u) return false;
  }
  return true;
}

}  // namespace

Header header_of(std::string_view bytes) {
  Header header;
  const std::size_t end = bytes.substr(0, 64).find('\n');
  if (end == std::string_view::npos) return header;
  const char* at = bytes.data();
  const char* last = at + end;
  const auto number = [&](std::uint64_t& value) {
    const auto [next, error] = std::from_chars(at, last, value);
    const bool good = error == std::errc() && next != at;
    at = next;
    return good;
  };
  if (!number(header.count) || at == last || *at++ != ' ' || !number(header.size)) return header;
  while (at != last && (*at == ' ' || *at == '\r' || *at == '\t')) ++at;
  if (at == last) header.end = end + 1;
  return header;
}

Loader::Loader(const std::filesystem::path& path, ThreadPool& pool)
    : file_(std::make_shared<const MappedFile>(path)), pool_(pool) {
  bytes_ =
      without_byte_order_mark({reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()});
  vectors_.name_ = path.string();
  header_ = header_of(bytes_);
}

Format Loader::guess() const {
  if (bytes_.starts_with(kFasttextMagic)) return Format::fasttext_binary;
  if (header_.end == 0) {
    refuse_other_forms();
    return Format::glove;
  }
  return first_row_is_text() ? Format::word2vec_text : Format::word2vec_binary;
}

// Return true if the row after the header is text. The file is binary if the bytes of the first vector are
// not all ASCII text, and if words and vectors alternate. The length of the line is not tested, because
// floats may contain newline bytes.
bool Loader::first_row_is_text() const {
  const auto size = static_cast<std::size_t>(std::min(header_.size, kLargestSize));
  const std::string_view rest = bytes_.substr(header_.end, size * 32 + kLongestWord);
  const std::string_view line = rest.substr(0, rest.find('\n'));
  if (holds_row(line, size)) return true;  // the word may contain control characters
  if (looks_binary(line)) return false;
  const std::size_t row_bytes = size * sizeof(float);
  const std::string_view row = rest.substr(std::min(rest.find(' '), rest.size()), row_bytes + 1);
  const bool all_ascii = !looks_binary(row) && std::all_of(row.begin(), row.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
  return all_ascii || !walks_as_binary(row_bytes);
}

bool Loader::walks_as_binary(std::size_t row_bytes) const {
  // number of words to read as binary before the file is accepted as binary
  constexpr std::uint64_t kEnough = 1000;
  std::size_t at = header_.end;
  for (std::uint64_t i = 0; i < std::min(header_.count, kEnough); ++i) {
    while (at < bytes_.size() && bytes_[at] == '\n') ++at;
    const std::string_view word = bytes_.substr(at, bytes_.substr(at, kLongestWord).find(' '));
    at += word.size() + 1 + row_bytes;
    if (word.empty() || at > bytes_.size() || looks_binary(word) || word.find('\n') != std::string_view::npos)
      return false;
  }
  return true;
}

// A file without a header has GloVe's text format or is not supported. Throws bad_file if its format is not
// supported; the error names the format if it is known.
void Loader::refuse_other_forms() const {
  for (const OtherForm& other : kOthers)
    if (bytes_.starts_with(other.magic))
      throw file_error(vectors_.name_, "the file does not contain word vectors")
          .found(other.name)
          .remedy(other.remedy);
  std::string_view line = bytes_.substr(0, kLongestWord);
  line = line.substr(0, line.find('\n'));
  if (looks_binary(line) && !holds_row(line, 1))
    throw Error(ErrorKind::bad_file, "the file does not contain word vectors", {vectors_.name_, -1, 0})
        .found("bytes that are not text")
        .expected("a first line COUNT SIZE, lines of one word and its numbers, or fastText's binary format");
}

WordVectors Loader::load(Format format) {
  if (format == Format::automatic) return read(guess());
  try {
    return read(format);
  } catch (const Error& error) {
    header_ = header_of(bytes_);    // read the header again, because the reader of GloVe's format clears it
    const Format likely = guess();  // throws if the file has an unsupported format
    if (likely == format) throw;
    throw Error(error).remedy("Remove --format: the file has the format " + std::string(name_of(likely)));
  }
}

WordVectors Loader::read(Format format) {
  vectors_.format_ = format;
  if (bytes_.empty()) damaged_byte(0, "the file is empty", "", "word vectors");
  const bool needs_header =
      vectors_.format_ == Format::word2vec_text || vectors_.format_ == Format::word2vec_binary;
  if (needs_header && header_.end == 0)
    damaged_line(1, "the first line is not two numbers", "", "COUNT SIZE, as word2vec writes it");
  if (needs_header && (header_.size == 0 || header_.size > kLargestSize))
    damaged_line(1, "vector size out of range", std::to_string(header_.size),
                 "1 to " + std::to_string(kLargestSize));
  const bool is_fasttext = vectors_.format_ == Format::fasttext_binary;
  if (is_fasttext || vectors_.format_ == Format::word2vec_binary) {
    // A byte order mark would shift the offsets of vectors, which are relative to the start of the file.
    if (bytes_.size() != file_->bytes().size())
      damaged_byte(0, "a binary file begins with a byte order mark", "",
                   is_fasttext ? "fastText's binary format" : "COUNT SIZE, as word2vec writes it");
    is_fasttext ? read_fasttext() : read_binary();
  } else {
    if (vectors_.format_ == Format::glove) header_ = Header();
    read_text();
  }
  if (vectors_.words_.size() == 0) damaged_byte(0, "the file has no words");
  vectors_.measure(pool_);
  return std::move(vectors_);
}

void Loader::damaged_line(std::size_t line, const std::string& what, const std::string& found,
                          const std::string& expected) const {
  Error error(ErrorKind::bad_file, what, {vectors_.name_, static_cast<std::int64_t>(line), -1});
  if (!found.empty()) error.found(found);
  if (!expected.empty()) error.expected(expected);
  throw error;
}

void Loader::damaged_byte(std::uint64_t byte, const std::string& what, const std::string& found,
                          const std::string& expected) const {
  Error error(ErrorKind::bad_file, what, {vectors_.name_, -1, static_cast<std::int64_t>(byte)});
  if (!found.empty()) error.found(found);
  if (!expected.empty()) error.expected(expected);
  throw error;
}

void Loader::check_count(std::uint64_t count) const {
  if (count > static_cast<std::uint64_t>(text::Vocabulary::kMaxId))
    throw file_error(vectors_.name_, "the file has too many words")
        .found(std::to_string(count))
        .expected("at most " + std::to_string(text::Vocabulary::kMaxId));
}

bool Loader::add_word(std::string_view word) {
  if (vectors_.words_.find(word)) {
    ++vectors_.duplicates_;
    return false;
  }
  vectors_.words_.add(word, static_cast<std::int32_t>(vectors_.words_.size()));
  return true;
}

void Loader::check_finite_rows() {
  const std::size_t count = vectors_.places_.size();
  const auto size = static_cast<std::size_t>(vectors_.size_);
  constexpr std::size_t kRows = 1024;
  std::mutex guard;
  std::uint64_t first = ~std::uint64_t{0};
  pool_.parallel_for(static_cast<std::int64_t>((count + kRows - 1) / kRows), [&](std::int64_t task, int) {
    const std::size_t begin = static_cast<std::size_t>(task) * kRows;
    for (std::size_t i = begin; i < std::min(begin + kRows, count); ++i) {
      if (all_finite(vectors_.row(i), size)) continue;
      const std::lock_guard lock(guard);
      first = std::min(first, vectors_.places_[i]);
      return;
    }
  });
  if (first != ~std::uint64_t{0})
    damaged_byte(first, "the vector at this position has a number that is not finite");
}

// Read a file in which words and vectors alternate. fastText and word2vec write a line end after each vector,
// but gensim does not.
void Loader::read_binary() {
  check_count(header_.count);
  const std::size_t row_bytes = static_cast<std::size_t>(header_.size) * sizeof(float);
  if (header_.count > (bytes_.size() - header_.end) / (row_bytes + 1))
    damaged_byte(
        bytes_.size(), "the file is shorter than its first line declares",
        std::to_string(bytes_.size()) + " bytes",
        std::to_string(header_.count) + " words with vectors of " + std::to_string(row_bytes) + " bytes");
  vectors_.file_ = file_;
  vectors_.size_ = static_cast<std::int64_t>(header_.size);
  vectors_.words_.reserve(header_.count);
  vectors_.places_.reserve(header_.count);
  std::size_t at = header_.end;
  for (std::uint64_t i = 0; i < header_.count; ++i) {
    while (at < bytes_.size() && bytes_[at] == '\n') ++at;
    const std::size_t space = bytes_.substr(at, kLongestWord + 1).find(' ');
    if (space == std::string_view::npos)
      damaged_byte(at, "unterminated word",
                   "word " + std::to_string(i + 1) + " of " + std::to_string(header_.count));
    const std::size_t row = at + space + 1;
    if (bytes_.size() - row < row_bytes)
      damaged_byte(bytes_.size(), "the file ends within a vector",
                   "word " + std::to_string(i + 1) + " of " + std::to_string(header_.count));
    if (add_word(bytes_.substr(at, space))) vectors_.places_.push_back(row);
    at = row + row_bytes;
  }
  while (at < bytes_.size() && (bytes_[at] == '\n' || bytes_[at] == '\r')) ++at;
  if (at != bytes_.size())
    damaged_byte(at, "the file is longer than its first line declares",
                 std::to_string(bytes_.size() - at) + " bytes",
                 "the end of the file after " + std::to_string(header_.count) + " words");
  check_finite_rows();
}

}  // namespace regard::vectors
