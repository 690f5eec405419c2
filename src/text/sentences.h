// Cuts a text into sentences, so that each can be translated alone.
#pragma once

#include <string_view>
#include <vector>

namespace regard::text {

struct Sentence {
  std::string_view text;   // without the white space around it
  std::string_view space;  // the white space that follows it in the text
};

// A sentence ends
//   · behind . ! ? … (and any more of them, closing quotes and brackets) where white space follows and the
//   next
//     letter is no small one; but not behind a full stop that follows a single capital letter ("J. Smith"), a
//     title or abbreviation that never ends one (Mr., Dr., e.g., No. …), or a number that begins the
//     sentence;
//   · behind 。！？｡ and the Indic । ॥, and closing quotes and brackets, whatever follows;
//   · at a line end.
// The parts, each with its space, are the text, but for white space at its start.
std::vector<Sentence> split_sentences(std::string_view text);

}  // namespace regard::text
