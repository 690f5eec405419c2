#include <array>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

// Lexicon entries for the function words and other fixed words of the templates.
constexpr std::array kFunctionWords{
    Fixed{"in", "में"},         Fixed{"on", "पर"},       Fixed{"at", "पर"},        Fixed{"at", "में"},
    Fixed{"not", "नहीं"},      Fixed{"not", "मत"},      Fixed{"and", "और"},       Fixed{"who", "कौन"},
    Fixed{"who", "किसने"},     Fixed{"where", "कहाँ"},   Fixed{"when", "कब"},      Fixed{"why", "क्यों"},
    Fixed{"what", "क्या"},     Fixed{"please", "कृपया"}, Fixed{"this", "यह"},      Fixed{"this", "इस"},
    Fixed{"that", "वह"},      Fixed{"these", "ये"},     Fixed{"those", "वे"},      Fixed{"than", "से"},
    Fixed{"of", "का"},        Fixed{"of", "की"},       Fixed{"of", "के"},         Fixed{"with", "साथ"},
    Fixed{"for", "लिए"},      Fixed{"under", "नीचे"},   Fixed{"near", "पास"},     Fixed{"behind", "पीछे"},
    Fixed{"should", "चाहिए"}, Fixed{"a", "एक"},        Fixed{"an", "एक"},        Fixed{"let us", "चलो"},
    Fixed{"be", "होगा"},      Fixed{"be", "होगी"},     Fixed{"be", "होंगे"},       Fixed{"be", "होंगी"},
    Fixed{"be", "हूँगा"},       Fixed{"today", "आज"},    Fixed{"yesterday", "कल"}, Fixed{"tomorrow", "कल"},
    Fixed{"it", "यह"},
};

}  // namespace

void add_vocabulary(Lexicon& lexicon) {
  for (const auto nouns : {goods(), places(), nature(), works(), animals()})
    for (const Noun& noun : nouns) lexicon.add_noun(noun);
  for (const Subject& who : everyone()) lexicon.add_person(who);
  for (const auto adjectives : {adjectives_of_goods(), adjectives_of_people()})
    for (const Adjective& one : adjectives) lexicon.add_adjective(one.english, one.hindi);
  for (const Fixed& one : kFunctionWords) lexicon.add(one.english, one.hindi);
  lexicon.add_adjective("very", "बहुत");
  for (const char* be : {"is", "are", "am"})
    for (const char* now : {"है", "हैं", "हूँ"}) lexicon.add(be, now);
  for (const char* be : {"was", "were"})
    for (const char* then : {"था", "थे", "थी", "थीं"}) lexicon.add(be, then);
  lexicon.add_action({"want", "wants", "wanted", "wanting", "", "", "चाह"});
  lexicon.add_action({"can", "can", "could", "", "", "", "सक"});
}

}  // namespace regard::demo::phrases
