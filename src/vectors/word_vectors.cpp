#include "vectors/word_vectors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/counted.h"
#include "base/names.h"
#include "base/plain_text.h"
#include "regard/error.h"
#include "vectors/loader.h"

namespace regard::vectors {
namespace {

constexpr std::pair<const char*, Format> kNames[] = {{"auto", Format::automatic},
                                                     {"word2vec", Format::word2vec_text},
                                                     {"word2vec-binary", Format::word2vec_binary},
                                                     {"glove", Format::glove},
                                                     {"fasttext-binary", Format::fasttext_binary}};

}  // namespace

const char* name_of(Format format) {
  for (const auto& [name, known] : kNames)
    if (known == format) return name;
  return "?";
}

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names = names_of(kNames);
  return names;
}

Format format_of(std::string_view name) {
  for (const auto& [known, format] : kNames)
    if (known == name) return format;
  throw usage_error("unknown format of word vectors")
      .found(std::string(name))
      .expected(fmt::format("{}", fmt::join(format_names(), ", ")));
}

WordVectors WordVectors::load(const std::filesystem::path& path, ThreadPool& pool, Format format) {
  return Loader(path, pool).load(format);
}

WordVectors::WordVectors(std::span<const std::string> words, std::int64_t size, std::vector<float> values)
    : size_(size), values_(std::move(values)) {
  if (size <= 0 || values_.size() != words.size() * static_cast<std::size_t>(size))
    throw usage_error("the number of values differs from words × size")
        .found(counted(values_.size(), "value"))
        .expected(std::to_string(words.size()) + " × " + std::to_string(size) + " values");
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words_.find(words[i]))
      throw usage_error("two vectors have the same word").found("'" + words[i] + "'");
    words_.add(words[i], static_cast<std::int32_t>(i));
  }
  for (const float value : values_)
    if (!std::isfinite(value))
      throw usage_error("a vector contains a number that is not finite").found(std::to_string(value));
  ThreadPool alone(1);
  measure(alone);
}

const std::byte* WordVectors::row(std::size_t index) const noexcept {
  return values_.empty() && file_ ? file_->bytes().data() + places_[index]
                                  : reinterpret_cast<const std::byte*>(values_.data()) +
                                        index * static_cast<std::size_t>(size_) * sizeof(float);
}

std::string_view WordVectors::word(std::size_t index) const {
  return *words_.token(static_cast<std::int32_t>(index));
}

std::optional<std::size_t> WordVectors::find(std::string_view word) const {
  const auto id = words_.find(word);
  if (!id) return std::nullopt;
  return static_cast<std::size_t>(*id);
}

void WordVectors::copy(std::size_t index, float* to) const {
  std::memcpy(to, row(index), static_cast<std::size_t>(size_) * sizeof(float));
}

bool WordVectors::vector_of(std::string_view word, float* to) const {
  if (const auto index = find(word)) {
    copy(*index, to);
    return true;
  }
  std::vector<std::int64_t> numbers;
  subwords_.buckets_of(word, numbers);
  if (numbers.empty()) return false;
  const auto size = static_cast<std::size_t>(size_);
  std::vector<float> part(size);
  std::fill_n(to, size, 0.0f);
  for (const std::int64_t number : numbers) {
    std::memcpy(
        part.data(),
        file_->bytes().data() + subword_rows_ + static_cast<std::uint64_t>(number) * size * sizeof(float),
        size * sizeof(float));
    for (std::size_t i = 0; i < size; ++i) to[i] += part[i];
  }
  for (std::size_t i = 0; i < size; ++i) to[i] /= static_cast<float>(numbers.size());
  return true;
}

std::vector<float> WordVectors::require(std::string_view word) const {
  std::vector<float> vector(static_cast<std::size_t>(size_));
  if (vector_of(word, vector.data())) return vector;
  Error error = usage_error("the word '" + std::string(word) + "' has no vector in " + name_);
  const std::string lower = lower_case(word);
  if (find(lower)) error.remedy("Use '" + lower + "', which has a vector");
  throw error;
}

void WordVectors::measure(ThreadPool& pool) {
  const std::size_t count = words_.size();
  const auto size = static_cast<std::size_t>(size_);
  norms_.resize(count);
  constexpr std::size_t kRows = 1024;  // rows per task of the thread pool
  constexpr double kLargest = std::numeric_limits<float>::max();
  pool.parallel_for(static_cast<std::int64_t>((count + kRows - 1) / kRows),
                    [&](std::int64_t task, int worker) {
                      auto* numbers = reinterpret_cast<float*>(pool.scratch(worker, size * sizeof(float)));
                      const std::size_t begin = static_cast<std::size_t>(task) * kRows;
                      for (std::size_t i = begin; i < std::min(begin + kRows, count); ++i) {
                        copy(i, numbers);
                        double sum = 0.0;
                        for (std::size_t at = 0; at < size; ++at)
                          sum += static_cast<double>(numbers[at]) * numbers[at];
                        norms_[i] = static_cast<float>(std::min(std::sqrt(sum), kLargest));
                      }
                    });
}

}  // namespace regard::vectors
