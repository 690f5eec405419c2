// Other spellings of sentences: without a final mark, and as an exclamation.
#pragma once

#include <vector>

#include "demo/phrasebook.h"

namespace regard::demo::phrases {

// Append other spellings of pairs that a hash selects:
//   - statements and questions without a final mark on both sides: "The exam is hard";
//   - statements as exclamations: "The exam is hard!".
// A spelling is held out if its pair is, and has the same links. It is not an example sentence of an article.
// Texts that are in the book already are not repeated.
void append_spellings(std::vector<Phrase>& book);

}  // namespace regard::demo::phrases
