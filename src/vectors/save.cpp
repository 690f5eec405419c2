#include "vectors/save.h"

#include <charconv>

#include "base/file.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

void check_word(const std::string& word, Format format) {
  const bool blank_ends = format != Format::glove;
  if (word.empty() || word.find('\n') != std::string::npos || word.find('\r') != std::string::npos ||
      (blank_ends && word.find_first_of(" \t") != std::string::npos))
    throw usage_error("the format cannot store this word")
        .found("'" + word + "'")
        .expected("a word without line ends and, in word2vec's formats, without spaces and tabs");
}

void add_row(std::string& text, const float* row, std::int64_t size, bool binary) {
  text += ' ';
  if (binary) {
    text.append(reinterpret_cast<const char*>(row), static_cast<std::size_t>(size) * sizeof(float));
  } else {
    for (std::int64_t at = 0; at < size; ++at) {
      char digits[32];
      const auto [end, error] = std::to_chars(digits, digits + sizeof digits, row[at]);
      if (at > 0) text += ' ';
      text.append(digits, end);
    }
  }
  text += '\n';
}

}  // namespace

void save_vectors(const std::filesystem::path& path, Format format, std::span<const std::string> words,
                  std::int64_t size, std::span<const float> values) {
  if (format == Format::automatic) format = Format::word2vec_text;
  if (format == Format::fasttext_binary)
    throw usage_error("writing fastText's binary format is not supported")
        .remedy("Write word2vec's text or binary format");
  AtomicFile file(path);
  std::string text;
  if (format != Format::glove) text = std::to_string(words.size()) + " " + std::to_string(size) + "\n";
  for (std::size_t i = 0; i < words.size(); ++i) {
    check_word(words[i], format);
    text += words[i];
    add_row(text, values.data() + i * static_cast<std::size_t>(size), size,
            format == Format::word2vec_binary);
    if (text.size() < kPiece) continue;
    file.write(text);
    text.clear();
  }
  file.write(text);
  file.commit();
}

}  // namespace regard::vectors
