// The lexicon of the phrasebook: words and phrases that translate each other. The alignment of a pair of
// sentences is computed from it.
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
  // Add an entry. An entry with one word on both sides produces a sure link. Other entries produce possible
  // links of all words of one side with all words of the other side.
  void add(std::string_view english, std::string_view hindi);
  void add_all(std::initializer_list<Fixed> entries);
  // Add an entry for possible links with Hindi words that the entries of add() have not linked. The English
  // words may already be linked.
  void also(std::string_view english, std::string_view hindi);

  void add_noun(const Noun& noun);      // add the noun in all its forms
  void add_person(const Subject& who);  // add the person as subject, object and owner
  void add_adjective(std::string_view english, std::string_view hindi);
  void add_action(const Action& what);  // add the verb in all its forms, and the object
  // Add the noun and the preposition of a phrase such as "on the table", मेज़ पर. Longer phrases are ignored.
  void add_spot(std::string_view english, std::string_view hindi);

  // Return the links of the words of two sentences. The longest English phrases are linked first. If the
  // phrases of an entry occur equally often on both sides, they are linked in order; otherwise they are not
  // linked. Then function words get possible links: English articles and auxiliaries with the translation of
  // the next words, Hindi postpositions and auxiliaries with the translation of the previous word.
  std::vector<WordLink> align(std::string_view english, std::string_view hindi) const;

 private:
  std::unordered_map<std::string, std::vector<std::string>> entries_, extra_;
  std::unordered_map<std::string, bool> modifiers_;
};

}  // namespace regard::demo::phrases
