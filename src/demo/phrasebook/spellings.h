// Spelling variants of sentences: without final punctuation, and as an exclamation.
#pragma once

#include <vector>

#include "demo/phrasebook.h"

namespace regard::demo::phrases {

// Append spelling variants of pairs that a hash selects:
//   - statements and questions without final punctuation in both languages: "The exam is hard";
//   - statements as exclamations: "The exam is hard!".
// A variant has the links of its pair and is held out if its pair is; its `article` is false. Texts that are
// already in the book are not repeated.
void append_spellings(std::vector<Phrase>& book);

}  // namespace regard::demo::phrases
