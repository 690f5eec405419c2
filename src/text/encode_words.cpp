#include "text/encode_words.h"

#include <algorithm>

namespace regard::text {

Encoding encode_words(const Tokenizer& tokenizer, std::span<const std::string> words) {
  Encoding all;
  for (std::size_t word = 0; word < words.size(); ++word) {
    Encoding encoding =
        tokenizer.encode(words[word], {.add_special = false, .match_special = false, .as_file = false});
    std::fill(encoding.words.begin(), encoding.words.end(), static_cast<std::int32_t>(word));
    append(all, encoding);
  }
  return all;
}

}  // namespace regard::text
