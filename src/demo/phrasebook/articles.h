// Example sentences from texts about the attention mechanism, and their close variants. The demo never trains
// on these sentences.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "demo/phrasebook.h"

namespace regard::demo::phrases {

struct Article {
  const char* english;
  const char* hindi;
  PhraseKind kind = PhraseKind::other;
  // Lower-case phrases of the article's sentence: subject, tense and idiom. A sentence that contains all keys
  // is a variant of the article's sentence. Unused keys are null; without keys, there are no variants.
  std::array<const char*, 3> keys{};
};

std::span<const Article> articles();

// Return true if `sentence` is the sentence of an article, or a variant of one: it contains all keys of the
// article as sequences of whole words. Such a sentence must not be used for training.
bool is_variant_of_an_article(std::string_view sentence);

}  // namespace regard::demo::phrases
