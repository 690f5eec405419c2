// The lexicon of the phrasebook: words and phrases that translate each other, from which the alignment of a
// pair of sentences follows.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "demo/phrasebook.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {

// Leading articles and prepositions of English entries, and trailing postpositions of Hindi entries, are
// removed unless nothing would remain: "to a story", कहानी को → "story", कहानी. Entries with an empty side
// are ignored.
class Lexicon {
 public:
  // One word on both sides: a sure link; else possible links of all words of one side with all of the other.
  void add(std::string_view english, std::string_view hindi);
  void add_all(std::initializer_list<Fixed> entries);
  // Possible links with a Hindi phrase that no entry of add() has linked; the English words may be linked.
  void also(std::string_view english, std::string_view hindi);

  void add_noun(const Noun& noun);      // in all its forms
  void add_person(const Subject& who);  // as subject, object and owner
  void add_adjective(std::string_view english, std::string_view hindi);
  void add_action(const Action& what);  // the verb in all its forms, and the object
  // "on the table", मेज़ पर: the noun and the preposition. Longer places are ignored.
  void add_spot(std::string_view english, std::string_view hindi);

  // Links of the words of two sentences. The longest English phrases are linked first. An entry links its
  // phrases in their order if they occur equally often on both sides, and not at all otherwise. Afterwards
  // articles and English auxiliaries get possible links with the translation of the words that follow them,
  // postpositions and Hindi auxiliaries with that of the word before them.
  std::vector<WordLink> align(std::string_view english, std::string_view hindi) const;

 private:
  std::unordered_map<std::string, std::vector<std::string>> entries_, extra_;
  std::unordered_map<std::string, bool> modifiers_;
};

}  // namespace regard::demo::phrases
