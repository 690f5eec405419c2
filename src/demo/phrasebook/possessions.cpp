// Adds sentences about possessions, needs, likes, knowledge and feelings. In most of them, the Hindi verb
// agrees with the thing, not with the person.
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

constexpr Number kMany = Number::plural;

constexpr NounPhrase kLiked[] = {
    {"tea", "चाय", kFeminine},
    {"milk", "दूध", kMasculine},
    {"mangoes", "आम", kMasculinePlural},
    {"books", "किताबें", kFemininePlural},
    {"flowers", "फूल", kMasculinePlural},
    {"cricket", "क्रिकेट", kMasculine},
    {"music", "संगीत", kMasculine},
    {"this city", "यह शहर", kMasculine},
    {"stories", "कहानियाँ", kFemininePlural},
    {"Indian food", "भारतीय खाना", kMasculine},
};
constexpr NounPhrase kNeeded[] = {
    {"water", "पानी", kMasculine},         {"help", "मदद", kFeminine},
    {"money", "पैसे", kMasculinePlural},     {"time", "समय", kMasculine},
    {"rest", "आराम", kMasculine},          {"medicine", "दवा", kFeminine},
    {"a new book", "नई किताब", kFeminine}, {"new clothes", "नए कपड़े", kMasculinePlural},
};
// A state that Hindi expresses with a noun and the dative: "the boy is thirsty", लड़के को प्यास लगी है.
struct State {
  const char* english;  // the words after "am", "is" or "are"
  const char* hindi;
  Agreement agreement;
  const char* verb;  // verb without है
};
constexpr std::array kStates{
    State{"hungry", "भूख", kFeminine, "लगी"},    State{"thirsty", "प्यास", kFeminine, "लगी"},
    State{"cold", "ठंड", kFeminine, "लग रही"},   State{"afraid", "डर", kMasculine, "लग रहा"},
    State{"sleepy", "नींद", kFeminine, "आ रही"},
};

constexpr std::array<const char*, 10> kNumbers{"one", "two",   "three", "four", "five",
                                               "six", "seven", "eight", "nine", "ten"};
constexpr std::array<const char*, 10> kHindiNumbers{"एक", "दो",  "तीन", "चार", "पाँच",
                                                    "छह", "सात", "आठ",  "नौ",  "दस"};

// Return the person followed by the postposition, such as मेरे पास for "I" and पास.
std::string with(const Subject& who, const char* postposition) {
  return possessive(who.owner, kMasculine, Case::oblique) + " " + postposition;
}

void write_having(Book& book, const Subject& who, const Noun& noun) {
  const char* has = who.english_plural ? "have" : "has";
  const std::string near = with(who, "पास");
  if (const auto english = words({who.english, has, with_article(noun.english)}); chosen(english, 45))
    book.tell(english, words({near, "एक", noun.hindi, "है"}));
  if (const auto english = words({who.english, "had", with_article(noun.english)}); chosen(english, 24))
    book.tell(english, words({near, "एक", noun.hindi, was_then(noun.agreement())}));
  if (const auto english = words(
          {who.english, who.english_plural ? "do not have" : "does not have", with_article(noun.english)});
      chosen(english, 24))
    book.tell(english, words({near, noun.hindi, "नहीं है"}));
  if (const auto english =
          words({who.english_plural ? "do" : "does", who.english, "have", with_article(noun.english)});
      chosen(english, 24))
    book.ask(english, words({"क्या", near, noun.hindi, "है"}));
  const std::size_t count = 1 + pick(who.english + noun.english, 9);
  if (const auto english = words({who.english, has, kNumbers[count], noun.english_plural});
      chosen(english, 34))
    book.tell(english, words({near, kHindiNumbers[count], noun.form(kMany, Case::direct), "हैं"}));
}

void write_owning(Book& book, const Subject& who, const Noun& noun) {
  const std::string one = possessive(who.owner, noun.agreement()),
                    many = possessive(who.owner, noun.agreement(kMany));
  if (const auto english = words({"this is", who.english_owner, noun.english}); chosen(english, 45))
    book.tell(english, words({"यह", one, noun.hindi, "है"}));
  if (const auto english = words({"these are", who.english_owner, noun.english_plural}); chosen(english, 34))
    book.tell(english, words({"ये", many, noun.form(kMany, Case::direct), "हैं"}));
  if (const auto english = words({"where is", who.english_owner, noun.english}); chosen(english, 30))
    book.ask(english, words({one, noun.hindi, "कहाँ है"}));
  if (const auto english = words({"this is not", who.english_owner, noun.english}); chosen(english, 20))
    book.tell(english, words({"यह", one, noun.hindi, "नहीं है"}));
  if (const auto english = words({who.english_owner, noun.english, "is on the table"}); chosen(english, 20))
    book.tell(english, words({one, noun.hindi, "मेज़ पर है"}));
}

void write_family(Book& book, const Subject& who) {
  const char* has = who.english_plural ? "have" : "has";
  book.tell(words({who.english, has, "two brothers"}),
            words({possessive(who.owner, kMasculinePlural), "दो भाई हैं"}));
  book.tell(words({who.english, has, "a sister"}), words({possessive(who.owner, kFeminine), "एक बहन है"}));
  book.tell(words({who.english, has, "three sisters"}),
            words({possessive(who.owner, kFemininePlural), "तीन बहनें हैं"}));
  book.tell(words({who.english, has, "a brother"}), words({possessive(who.owner, kMasculine), "एक भाई है"}));
}

void write_likes(Book& book, const Subject& who) {
  for (const NounPhrase& wish : kLiked) {
    if (const auto english = words({who.english, who.english_plural ? "like" : "likes", wish.english});
        chosen(english, 198))
      book.tell(english, words({who.dative, wish.hindi, "पसंद", is_now(wish.agreement)}));
    if (const auto english =
            words({who.english, who.english_plural ? "do not like" : "does not like", wish.english});
        chosen(english, 80))
      book.tell(english, words({who.dative, wish.hindi, "पसंद नहीं", is_now(wish.agreement)}));
    if (const auto english = words({who.english_plural ? "do" : "does", who.english, "like", wish.english});
        chosen(english, 80))
      book.ask(english, words({"क्या", who.dative, wish.hindi, "पसंद", is_now(wish.agreement)}));
  }
  for (const NounPhrase& wish : kNeeded) {
    if (const auto english = words({who.english, who.english_plural ? "need" : "needs", wish.english});
        chosen(english, 198))
      book.tell(english, words({who.dative, wish.hindi, "चाहिए"}));
    if (const auto english =
            words({who.english, who.english_plural ? "do not need" : "does not need", wish.english});
        chosen(english, 69))
      book.tell(english, words({who.dative, wish.hindi, "नहीं चाहिए"}));
  }
}

void write_feelings(Book& book, const Subject& who) {
  for (const State& state : kStates) {
    if (const auto english = words({who.english, who.be, state.english}); chosen(english, 297))
      book.tell(english, words({who.dative, state.hindi, state.verb, is_now(state.agreement)}));
    if (const auto english = words({who.english, who.was, state.english}); chosen(english, 123))
      book.tell(english, words({who.dative, state.hindi, state.verb, was_then(state.agreement)}));
    if (const auto english = words({who.be, who.english, state.english}); chosen(english, 123))
      book.ask(english, words({"क्या", who.dative, state.hindi, state.verb, is_now(state.agreement)}));
  }
  const char* has = who.english_plural ? "have" : "has";
  book.tell(words({who.english, has, "a fever"}), words({who.dative, "बुखार है"}));
  book.tell(words({who.english, has, "a headache"}),
            words({possessive(who.owner, kMasculine, Case::oblique), "सिर में दर्द है"}));
  book.tell(words({who.english, who.english_plural ? "know" : "knows", "Hindi"}),
            words({who.dative, "हिंदी आती है"}));
  book.tell(words({who.english, who.english_plural ? "do not know" : "does not know", "English"}),
            words({who.dative, "अंग्रेज़ी नहीं आती है"}));
  book.tell(words({who.english, "got angry"}), words({who.dative, "गुस्सा आया"}));
}

void write_market(Book& book, const Noun& noun) {
  const std::string many = noun.form(kMany, Case::direct);
  book.ask(words({"whose", noun.english, "is this"}),
           words({"यह", possessive("किसका", noun.agreement()), noun.hindi, "है"}));
  book.ask(words({"how much is this", noun.english}),
           words({"यह", noun.hindi, "कितने", possessive("का", noun.agreement()), "है"}));
  if (chosen(noun.english, 297))
    book.ask(words({"how much are these", noun.english_plural}),
             words({"ये", many, "कितने", possessive("का", noun.agreement(kMany)), "हैं"}));
  book.ask(words({"how many", noun.english_plural, "are there"}),
           words({inflect("कितना", noun.agreement(kMany)), many, "हैं"}));
  const std::size_t count = 1 + pick(noun.english, 9);
  book.tell(words({"please give me", kNumbers[count], noun.english_plural}),
            words({"कृपया मुझे", kHindiNumbers[count], many, "दीजिए"}));
  for (const Subject& who : everyone()) {
    const auto english =
        words({who.english, who.english_plural ? "want" : "wants", "to buy", with_article(noun.english)});
    if (chosen(english, 30))
      book.tell(english, words({who.hindi, noun.hindi, "खरीदना", habitual("चाह", who.agreement)}));
  }
}

void add_possession_words(Lexicon& lexicon) {
  for (const auto wishes : {std::span<const NounPhrase>(kLiked), std::span<const NounPhrase>(kNeeded)})
    for (const NounPhrase& wish : wishes) lexicon.add(wish.english, wish.hindi);
  for (const State& state : kStates) lexicon.add(state.english, state.hindi);
  for (std::size_t i = 0; i < kNumbers.size(); ++i) lexicon.add(kNumbers[i], kHindiNumbers[i]);
  for (const char* has : {"have", "has", "had"}) lexicon.also(has, "पास");
  for (const char* like : {"like", "likes"}) lexicon.add(like, "पसंद");
  for (const char* need : {"need", "needs"}) lexicon.add(need, "चाहिए");
  for (const char* know : {"know", "knows"}) lexicon.add(know, "आती");
  lexicon.add_all({{"fever", "बुखार"},
                   {"headache", "सिर में दर्द"},
                   {"angry", "गुस्सा"},
                   {"got", "आया"},
                   {"English", "अंग्रेज़ी"},
                   {"Hindi", "हिंदी"},
                   {"brothers", "भाई"},
                   {"brother", "भाई"},
                   {"sister", "बहन"},
                   {"sisters", "बहनें"},
                   {"give", "दीजिए"},
                   {"buy", "खरीदना"},
                   {"me", "मुझे"},
                   {"how much", "कितने"},
                   {"how many", "कितने"},
                   {"how many", "कितनी"},
                   {"whose", "किसका"},
                   {"whose", "किसकी"}});
}

}  // namespace

void write_possessions(Book& book) {
  add_possession_words(book.lexicon());
  for (const Noun& noun : goods()) {
    for (const Subject& who : everyone()) {
      write_having(book, who, noun);
      write_owning(book, who, noun);
    }
    write_market(book, noun);
  }
  for (const Subject& who : everyone()) {
    write_family(book, who);
    write_likes(book, who);
    write_feelings(book, who);
  }
}

}  // namespace regard::demo::phrases
