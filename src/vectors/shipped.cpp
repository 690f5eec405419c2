#include "vectors/shipped.h"

#include <sstream>
#include <string>
#include <vector>

#include "base/counted.h"
#include "regard/error.h"
#include "text/base64.h"

namespace regard::vectors {
namespace {

WordVectors decode() {
  std::istringstream lines{std::string(kShippedVectors)};
  std::size_t count = 0;
  std::int64_t size = 0;
  float step = 0;
  lines >> count >> size >> step;
  std::vector<std::string> words;
  std::vector<float> values;
  std::string word, coded;
  while (lines >> word >> coded) {
    const std::optional<std::string> bytes = text::decode_base64(coded);
    if (!bytes || std::ssize(*bytes) != size)
      throw Error(ErrorKind::internal, "the built-in vector of the word '" + word + "' is damaged");
    for (const char byte : *bytes)
      values.push_back(static_cast<float>(static_cast<signed char>(byte)) * step);
    words.push_back(word);
  }
  if (words.size() != count || count == 0)
    throw Error(ErrorKind::internal, "the built-in word vectors are damaged")
        .found(counted(words.size(), "word"))
        .expected(counted(count, "word"));
  return {words, size, std::move(values)};
}

}  // namespace

const WordVectors& shipped_vectors() {
  static const WordVectors kVectors = decode();
  return kVectors;
}

}  // namespace regard::vectors
