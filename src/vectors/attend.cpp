#include "vectors/attend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/plain_text.h"
#include "base/utf8.h"
#include "regard/attention.h"
#include "regard/error.h"

namespace regard::vectors {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  std::size_t at = 0;
  while (at < text.size()) {
    const utf8::Decoded code = utf8::decode(text, at);
    if (code.valid && utf8::is_space(code.value)) {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word.append(text, at, static_cast<std::size_t>(code.size));
    }
    at += static_cast<std::size_t>(code.size);
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

std::string spelling_in(const WordVectors& vectors, const std::string& word) {
  if (vectors.find(word)) return word;
  const std::string lower = lower_case(word);
  return vectors.find(lower) ? lower : word;
}

std::span<const float> row(const Tensor& matrix, std::size_t index) {
  return {matrix.row(static_cast<std::int64_t>(index)), static_cast<std::size_t>(matrix.columns())};
}

std::vector<std::vector<Neighbour>> neighbours(const WordVectors& vectors, const Tensor& rows,
                                               const std::vector<AttendedWord>& words,
                                               const AttendOptions& options, ThreadPool& pool) {
  std::vector<Question> questions;
  for (std::size_t i = 0; i < words.size(); ++i) {
    Question question;
    const auto values = row(rows, i);
    question.positive.emplace_back(values.begin(), values.end());
    if (const auto index = vectors.find(words[i].found)) question.excluded.push_back(*index);
    questions.push_back(std::move(question));
  }
  return search(vectors, questions, options.neighbours, pool, AnalogyMethod::add, options.restrict);
}

Tensor vectors_of(const WordVectors& vectors, const std::vector<AttendedWord>& words, bool unit) {
  Tensor x = Tensor::empty({static_cast<std::int64_t>(words.size()), vectors.size()});
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::vector<float> values = vectors.require(words[i].found);
    if (unit) {
      double sum = 0.0;
      for (const float value : values) sum += static_cast<double>(value) * value;
      if (sum > 0.0)
        for (float& value : values) value = static_cast<float>(value / std::sqrt(sum));
    }
    std::memcpy(x.row(static_cast<std::int64_t>(i)), values.data(), values.size() * sizeof(float));
  }
  return x;
}

}  // namespace

Attended attend(const WordVectors& vectors, const std::string& text, const AttendOptions& options,
                ThreadPool& pool) {
  Attended result;
  for (const std::string& word : words_of(text)) result.words.push_back({word, spelling_in(vectors, word)});
  if (result.words.empty()) throw input_error("the text has no words").expected("at least 1 word");
  const Tensor x = vectors_of(vectors, result.words, options.unit);
  const Tensor input = x.reshape({1, 1, x.rows(), x.columns()});
  AttentionOptions how;
  how.scale = options.scale;
  result.weights = attention_weights(input, input, how).reshape({x.rows(), x.rows()});
  result.vectors = attention(input, input, input, how).reshape({x.rows(), x.columns()});
  for (const Tensor* tensor : {&result.weights, &result.vectors})
    if (!std::all_of(tensor->f32(), tensor->f32() + tensor->elements(),
                     [](float x) { return std::isfinite(x); }))
      throw Error(ErrorKind::numeric, "the attention has a number that is not finite")
          .remedy("Lower --scale, or normalise the vectors (without --as-they-are)");
  const auto before = neighbours(vectors, x, result.words, options, pool);
  const auto after = neighbours(vectors, result.vectors, result.words, options, pool);
  for (std::size_t i = 0; i < result.words.size(); ++i) {
    AttendedWord& word = result.words[i];
    word.stayed = cosine(row(x, i), row(result.vectors, i));
    for (std::size_t other = 0; other < result.words.size(); ++other) {
      word.before.push_back(cosine(row(x, i), row(x, other)));
      word.after.push_back(cosine(row(result.vectors, i), row(x, other)));
    }
    word.neighbours_before = before[i];
    word.neighbours_after = after[i];
  }
  return result;
}

}  // namespace regard::vectors
