// Splits a text into sentences, so that each sentence can be translated separately.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

namespace regard::text {

struct Sentence {
  std::string_view text;   // the sentence, without surrounding white space
  std::string_view space;  // the white space that follows the sentence in the text
};

// Split a text into at most `most` sentences, in time linear in the length of the text. A sentence ends
//   · after . ! ? … (repeated, with closing quotes and brackets) if white space follows and the next letter
//     is not lower case; but not after the full stop of a single capital letter ("J. Smith"), of a title or
//     abbreviation (Mr., Dr., e.g., No. …), or of a number at the start of the sentence;
//   · after 。！？｡ and the Indic । ॥ with closing quotes and brackets, regardless of what follows;
//   · at a line end.
// The concatenated sentences and spaces are the text without leading white space and without the text after
// the first `most` sentences.
std::vector<Sentence> split_sentences(std::string_view text,
                                      std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace regard::text
