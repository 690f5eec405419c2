// The demo's phrasebook: English–Hindi pairs written for this project. Most are made at start from templates
// with a small grammar of Hindi (phrasebook/grammar.h), the rest are fixed phrases. Idioms stand beside
// sentences that use the same words literally, so that a model has to look at the whole sentence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace regard::data {

enum class PhraseKind : std::uint8_t {
  other,
  idiom,  // the meaning is not that of the words: "a piece of cake" → सरल काम
  literal,  // the words of an idiom in their own meaning: "a piece of cake" → केक का टुकड़ा
};

const char* name_of(PhraseKind kind) noexcept;  // "idiom"

struct Phrase {
  std::string english;
  std::string hindi;  // Devanagari, NFC
  PhraseKind kind = PhraseKind::other;
  bool held_out = false;  // not to be trained on
};

// All pairs, always in the same order. No English sentence occurs twice. Held-out ones are chosen by a hash
// of the English sentence, among those whose every word occurs in at least two sentences of the rest.
// Built at the first call; safe to call from several threads.
const std::vector<Phrase>& phrasebook();

}  // namespace regard::data
