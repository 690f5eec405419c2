// Example sentences that texts about attention use, with close variants. The demo never trains on them.
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
  // Lower-case words that make a sentence a variant of this one: its subject, its tense and its idiom. Unused
  // keys are null. If all are null, there are no variants.
  std::array<const char*, 3> keys{};
};

std::span<const Article> articles();

// Return true if `sentence` is the article's sentence or contains all its keys, each as a sequence of whole
// words: the same idiom with the same subject and tense. Such a sentence must not be trained on.
bool reveals(std::string_view sentence, const Article& article);

}  // namespace regard::demo::phrases
