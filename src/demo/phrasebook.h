// The demo's phrasebook: English–Hindi pairs written for this project. Most are generated from templates with
// a small grammar of Hindi (phrasebook/grammar.h), the rest are fixed phrases. Idioms are accompanied by
// sentences that use the same words literally, so that the translation depends on the whole sentence.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace regard::demo {

enum class PhraseKind : std::uint8_t {
  other,
  idiom,    // idioms, not meant literally: "a piece of cake" → सरल काम
  literal,  // the words of an idiom, meant literally: "a piece of cake" → केक का टुकड़ा
};

const char* name_of(PhraseKind kind) noexcept;  // returns a name such as "idiom"

// A link between an English and a Hindi word, by their indices in the sentences split at spaces. A sure link
// joins two words that are translations of each other. All other links are possible links (Och and Ney 2003):
// links of each word of a phrase, such as an idiom, with each word of its translation, and links of function
// words without an equivalent, such as articles, with the translation of an adjacent word.
struct WordLink {
  std::size_t english = 0, hindi = 0;
  bool sure = true;

  auto operator<=>(const WordLink&) const = default;
};

struct Phrase {
  std::string english;
  std::string hindi;  // Hindi sentence in Devanagari, in Unicode form NFC
  PhraseKind kind = PhraseKind::other;
  bool held_out = false;        // true if the pair is excluded from training
  bool article = false;         // true for an example sentence from texts about attention; always held out
  std::vector<WordLink> links;  // word links, sorted; only for words of the lexicon
};

// Return the links in Pharaoh format, such as "0-1 2p0": "-" for sure links, "p" for possible ones.
std::string links_text(const Phrase& phrase);

// Return all pairs, always in the same order. No English sentence occurs twice. Held out are:
//   - example sentences from texts about attention, and their close variants (phrasebook/articles.h);
//   - pairs selected by a hash of the English sentence, if each English and Hindi word of the pair occurs in
//     at least two sentences that are not held out;
//   - other spellings of held-out pairs (phrasebook/spellings.h).
// The phrasebook is built at the first call. Thread-safe.
const std::vector<Phrase>& phrasebook();

}  // namespace regard::demo
