// Adds descriptions: sentences with adjectives after the verb or before the noun, and comparisons.
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

constexpr Number kOne = Number::singular, kMany = Number::plural;

void describe_one(Book& book, const Noun& noun, const Adjective& adjective) {
  const Agreement one = noun.agreement();
  const std::string is = std::string("the ") + noun.english + " is ", so = inflect(adjective.hindi, one);
  const std::string name = noun.hindi;
  if (const auto english = is + adjective.english; chosen(english, 126))
    book.tell(english, words({name, so, "है"}));
  if (const auto english = is + "very " + adjective.english; chosen(english, 45))
    book.tell(english, words({name, "बहुत", so, "है"}));
  if (const auto english = is + "not " + adjective.english; chosen(english, 57))
    book.tell(english, words({name, so, "नहीं है"}));
  if (const auto english = words({"is the", noun.english, adjective.english}); chosen(english, 45))
    book.ask(english, words({"क्या", name, so, "है"}));
  if (const auto english = words({"the", noun.english, "was", adjective.english}); chosen(english, 45))
    book.tell(english, words({name, so, was_then(one)}));
  if (const auto english = words({"this is", with_article(adjective.english), noun.english});
      chosen(english, 57))
    book.tell(english, words({"यह एक", so, name, "है"}));
  if (const auto english = words({"that", noun.english, "is", adjective.english}); chosen(english, 34))
    book.tell(english, words({"वह", name, so, "है"}));
}

void describe_many(Book& book, const Noun& noun, const Adjective& adjective) {
  const Agreement many = noun.agreement(kMany);
  const std::string so = inflect(adjective.hindi, many), names = noun.form(kMany, Case::direct);
  if (const auto english = words({"the", noun.english_plural, "are", adjective.english}); chosen(english, 92))
    book.tell(english, words({names, so, "हैं"}));
  if (const auto english = words({"these", noun.english_plural, "are", adjective.english});
      chosen(english, 45))
    book.tell(english, words({"ये", names, so, "हैं"}));
  if (const auto english = words({"those", noun.english_plural, "were", adjective.english});
      chosen(english, 34))
    book.tell(english, words({"वे", names, so, was_then(many)}));
  if (const auto english = words({"these are", adjective.english, noun.english_plural}); chosen(english, 40))
    book.tell(english, words({"ये", so, names, "हैं"}));
}

// Add sentences such as "My shirt is blue."
void describe_owned(Book& book, const Noun& noun, const Adjective& adjective) {
  for (const Subject& owner : everyone()) {
    if (const auto english = words({owner.english_owner, noun.english, "is", adjective.english});
        chosen(english, 6))
      book.tell(english, words({possessive(owner.owner, noun.agreement()), noun.hindi,
                                inflect(adjective.hindi, noun.agreement()), "है"}));
    if (const auto english = words({owner.english_owner, noun.english_plural, "are", adjective.english});
        chosen(english, 6))
      book.tell(english,
                words({possessive(owner.owner, noun.agreement(kMany)), noun.form(kMany, Case::direct),
                       inflect(adjective.hindi, noun.agreement(kMany)), "हैं"}));
  }
}

// Add sentences such as "The book is in the black bag". The adjective is in the oblique case, like its noun.
void describe_inside(Book& book) {
  for (const char* container : {"bag", "box", "room", "garden", "house", "boat"}) {
    const Noun& outer = thing(container);
    for (const Adjective& adjective : adjectives_of_places()) {
      for (const Noun& inner : portable()) {
        const auto english = words({"the", inner.english, "is in the", adjective.english, outer.english});
        if (&inner == &outer || !chosen(english, 22)) continue;
        book.tell(english, words({inner.hindi, inflect(adjective.hindi, outer.agreement(), Case::oblique),
                                  outer.form(kOne, Case::oblique), "में है"}));
      }
    }
  }
}

void describe_person(Book& book, const Subject& who, const Adjective& adjective) {
  const std::string so = inflect(adjective.hindi, who.agreement);
  const std::string now = is_now(who.agreement);
  if (const auto english = words({who.english, who.be, adjective.english}); chosen(english, 183))
    book.tell(english, words({who.hindi, so, now}));
  if (const auto english = words({who.english, who.be, "very", adjective.english}); chosen(english, 57))
    book.tell(english, words({who.hindi, "बहुत", so, now}));
  if (const auto english = words({who.english, who.be, "not", adjective.english}); chosen(english, 74))
    book.tell(english, words({who.hindi, so, "नहीं", now}));
  if (const auto english = words({who.be, who.english, adjective.english}); chosen(english, 74))
    book.ask(english, words({"क्या", who.hindi, so, now}));
  if (const auto english = words({who.english, who.was, adjective.english}); chosen(english, 86))
    book.tell(english, words({who.hindi, so, was_then(who.agreement)}));
  if (const auto english = words({who.english, "will be", adjective.english}); chosen(english, 51))
    book.tell(english, words({who.hindi, so, future("हो", who.agreement)}));
}

constexpr Fixed kComparisons[] = {
    {"taller", "लंबा"}, {"older", "बड़ा"}, {"younger", "छोटा"}, {"thinner", "पतला"}};

// Add sentences such as "The girl is taller than the boy."
void compare(Book& book) {
  for (const Fixed& more : kComparisons) {
    for (const Subject& who : everyone()) {
      for (const Subject& other : people()) {
        const auto english = words({who.english, who.be, more.english, "than", other.english});
        if (&who == &other || (who.english == "I" && other.english.starts_with("my ")) ||
            !chosen(english, 28))
          continue;
        book.tell(english,
                  words({who.hindi, other.from, inflect(more.hindi, who.agreement), is_now(who.agreement)}));
      }
    }
  }
  for (const Noun& one : animals()) {
    book.tell(words({"the", one.english, "is the biggest"}),
              words({one.hindi, "सबसे", inflect("बड़ा", one.agreement()), "है"}));
    for (const Noun& other : animals()) {
      const auto english = words({"the", one.english, "is bigger than the", other.english});
      if (&one == &other || !chosen(english, 285)) continue;
      book.tell(english, words({one.hindi, other.form(kOne, Case::oblique), "से",
                                inflect("बड़ा", one.agreement()), "है"}));
    }
  }
}

void describe(Book& book, std::span<const Noun> nouns, std::span<const Adjective> adjectives) {
  for (const Noun& noun : nouns) {
    for (const Adjective& adjective : adjectives) {
      describe_one(book, noun, adjective);
      describe_many(book, noun, adjective);
      if (nouns.data() != nature().data()) describe_owned(book, noun, adjective);
    }
  }
}

// Add sentences such as "The white cat is sleeping" and "The white cats were sleeping".
void animals_do(Book& book) {
  constexpr std::array kColours{Adjective{"white", "सफ़ेद"}, Adjective{"black", "काला"},
                                Adjective{"small", "छोटा"}, Adjective{"big", "बड़ा"}};
  constexpr std::array kDoing{Action{"sleep", "sleeps", "slept", "sleeping", "", "", "सो"},
                              Action{"run", "runs", "ran", "running", "", "", "दौड़"},
                              Action{"drink", "drinks", "drank", "drinking", "water", "पानी", "पी"}};
  for (const Noun& noun : animals()) {
    const bool fish = std::string_view(noun.english) == noun.english_plural;
    for (const Adjective& colour : kColours) {
      for (const Action& doing : kDoing) {
        if (const auto english =
                words({"the", colour.english, noun.english, "is", doing.continuous, doing.english_rest});
            !fish && chosen(english, 171))
          book.tell(english, words({inflect(colour.hindi, noun.agreement()), noun.hindi, doing.hindi_rest,
                                    ongoing(doing.stem, noun.agreement())}));
        if (const auto english = words(
                {"the", colour.english, noun.english_plural, "were", doing.continuous, doing.english_rest});
            !fish && chosen(english, 171))
          book.tell(english,
                    words({inflect(colour.hindi, noun.agreement(kMany)), noun.form(kMany, Case::direct),
                           doing.hindi_rest, was_ongoing(doing.stem, noun.agreement(kMany))}));
      }
    }
  }
}

}  // namespace

void write_descriptions(Book& book) {
  for (const Fixed& more : kComparisons) book.lexicon().add_adjective(more.english, more.hindi);
  book.lexicon().add("biggest", "सबसे बड़ा"), book.lexicon().add("biggest", "सबसे बड़ी");
  book.lexicon().add_adjective("bigger", "बड़ा");
  describe(book, goods(), adjectives_of_goods());
  describe(book, places(), adjectives_of_places());
  describe(book, nature(), adjectives_of_nature());
  describe(book, works(), adjectives_of_works());
  for (const Adjective& adjective : adjectives_of_people())
    for (const Subject& who : everyone()) describe_person(book, who, adjective);
  describe_inside(book);
  compare(book);
  animals_do(book);
}

}  // namespace regard::demo::phrases
