// Sentences such as "The quick brown fox jumps over the lazy dog", "The river flows" and "Money grew".
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

struct Look {
  const char* english;
  const char *first, *second;  // Hindi translations of the two adjectives
};
constexpr std::array kLeaping{Look{"quick brown", "फुर्तीला", "भूरा"}, Look{"quick black", "फुर्तीला", "काला"},
                              Look{"big brown", "बड़ा", "भूरा"}, Look{"small white", "छोटा", "सफ़ेद"}};
constexpr std::array kLeapt{Adjective{"lazy", "आलसी"}, Adjective{"big", "बड़ा"}, Adjective{"brown", "भूरा"}};

// Add a sentence in the present, past or future tense, selected by a hash of the sentence.
void write_leap(Book& book, const std::string& subject, const std::string& hindi, Agreement agreement,
                const std::string& over, const std::string& hindi_over) {
  const std::string where = hindi_over + " के ऊपर से";
  switch (pick(subject + over, 3)) {
    case 0:
      return book.tell(words({subject, "jumped over", over}),
                       words({hindi, where, perfective("कूद", agreement)}));
    case 1:
      return book.tell(words({subject, "will jump over", over}),
                       words({hindi, where, future("कूद", agreement)}));
    default:
      return book.tell(words({subject, "jumps over", over}),
                       words({hindi, where, habitual("कूद", agreement)}));
  }
}

void write_animal(Book& book, const Noun& animal) {
  const std::string name = animal.english;
  const Agreement a = animal.agreement();
  for (const Adjective& how :
       {Adjective{"quick", "फुर्तीला"}, Adjective{"brown", "भूरा"}, Adjective{"lazy", "आलसी"}})
    if (const auto english = words({"the", name, "is", how.english}); chosen(english, 600))
      book.tell(english, words({animal.hindi, inflect(how.hindi, a), "है"}));
  for (const Look& look : kLeaping) {
    for (const Adjective& how : kLeapt) {
      for (const char* other : {"dog", "fox", "cat", "horse", "monkey"}) {
        const Noun& below = thing(other);
        const auto subject = words({"the", look.english, name}), over = words({"the", how.english, other});
        if (name == other || !chosen(subject + over, 90)) continue;
        write_leap(book, subject, words({inflect(look.first, a), inflect(look.second, a), animal.hindi}), a,
                   over,
                   words({inflect(how.hindi, below.agreement(), Case::oblique),
                          below.form(Number::singular, Case::oblique)}));
      }
    }
  }
  for (const char* low : {"table", "river", "box"})
    if (const auto subject = words({"the", name}); chosen(subject + low, 450))
      write_leap(book, subject, animal.hindi, a, words({"the", low}),
                 thing(low).form(Number::singular, Case::oblique));
}

// Add sentences such as "The river flows" and "Money grew", with and without the article.
void write_changes(Book& book) {
  constexpr NounPhrase kFlowing[] = {{"river", "नदी", kFeminine},
                                     {"water", "पानी", kMasculine},
                                     {"milk", "दूध", kMasculine},
                                     {"river water", "नदी का पानी", kMasculine},
                                     {"river bank", "नदी का किनारा", kMasculine}};
  constexpr NounPhrase kGrowing[] = {{"money", "पैसे", kMasculinePlural},
                                     {"city", "शहर", kMasculine},
                                     {"village", "गाँव", kMasculine},
                                     {"bank", "बैंक", kMasculine},
                                     {"river bank", "नदी का किनारा", kMasculine},
                                     {"money bank", "पैसों का बैंक", kMasculine}};
  const auto write = [&book](const NounPhrase& what, std::array<const char*, 4> verb, const char* stem) {
    const Agreement a = what.agreement;
    for (const std::string& subject : {std::string("the ") + what.english, std::string(what.english)}) {
      book.tell(words({subject, verb[0]}), words({what.hindi, habitual(stem, a)}));
      book.tell(words({subject, verb[1]}), words({what.hindi, perfective(stem, a)}));
      book.tell(words({subject, "will", verb[2]}), words({what.hindi, future(stem, a)}));
      if (subject.starts_with("the"))
        book.tell(words({subject, "is", verb[3]}), words({what.hindi, ongoing(stem, a)}));
    }
  };
  for (const NounPhrase& what : kFlowing) write(what, {"flows", "flowed", "flow", "flowing"}, "बह");
  for (const NounPhrase& what : kGrowing) write(what, {"grows", "grew", "grow", "growing"}, "बढ़");
  constexpr NounPhrase kInBanks[] = {
      {"money", "पैसे", kMasculinePlural}, {"letter", "चिट्ठी", kFeminine}, {"key", "चाबी", kFeminine}};
  constexpr Fixed kWhere[] = {
      {"in the bank", "बैंक में"}, {"in the box", "डिब्बे में"}, {"in the house", "घर में"}, {"on the table", "मेज़ पर"}};
  for (const NounPhrase& what : kInBanks) {
    for (const Fixed& where : kWhere) {
      book.tell(words({"the", what.english, "is", where.english}),
                words({what.hindi, where.hindi, is_now(what.agreement)}));
      book.tell(words({"the", what.english, "will be", where.english}),
                words({what.hindi, where.hindi, future("हो", what.agreement)}));
      book.tell(words({"the", what.english, "was", where.english}),
                words({what.hindi, where.hindi, was_then(what.agreement)}));
    }
  }
}

}  // namespace

void write_leaps(Book& book) {
  for (const Adjective& how : {Adjective{"quick", "फुर्तीला"}, Adjective{"brown", "भूरा"},
                               Adjective{"lazy", "आलसी"}, Adjective{"big", "बड़ा"}, Adjective{"small", "छोटा"},
                               Adjective{"white", "सफ़ेद"}, Adjective{"black", "काला"}})
    book.lexicon().add_adjective(how.english, how.hindi);
  book.lexicon().add("over", "के ऊपर से");
  book.lexicon().add_action({"jump", "jumps", "jumped", "jumping", "", "", "कूद"});
  for (const Noun& animal : animals())
    if (std::string_view(animal.english) != animal.english_plural &&
        animal.english != std::string_view("bird"))
      write_animal(book, animal);
  write_changes(book);
}

}  // namespace regard::demo::phrases
