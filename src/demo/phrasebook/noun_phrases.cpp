// Adds noun phrases without a verb, such as "the red flower" and "village school".
#include <array>
#include <string>
#include <string_view>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

void write_described(Book& book, std::span<const Noun> nouns, std::span<const Adjective> adjectives) {
  for (const Noun& noun : nouns) {
    for (const Adjective& adjective : adjectives) {
      const std::string hindi = words({inflect(adjective.hindi, noun.agreement()), noun.hindi});
      const std::string english = words({adjective.english, noun.english});
      if (chosen(english + " alone", 60)) book.name(english, hindi);
      if (chosen("the " + english, 40)) book.name("the " + english, hindi);
    }
  }
}

struct Compound {
  const char* owner;                    // such as "river"
  std::array<const char*, 7> things{};  // such as "water"; unused entries are null
};

// "river bank" is not in the list: readers of the demo type this phrase, so it must not be a training pair.
constexpr Compound kCompounds[] = {
    {"river", {"water", "boat", "bird", "fish", "road"}},
    {"village", {"school", "road", "house", "garden", "bus", "bank", "shop"}},
    {"city", {"bank", "bus", "road", "school", "shop", "garden", "house"}},
    {"school", {"bus", "bag", "book", "garden", "door", "song", "picture"}},
    {"garden", {"flower", "door", "bird", "tree", "chair", "table", "water"}},
    {"house", {"door", "window", "garden", "key"}},
    {"shop", {"door", "window", "key"}},
    {"room", {"door", "window", "key"}},
    {"field", {"road", "flower", "tree"}},
    {"money", {"bag", "box", "bank"}},
    {"apple", {"tree"}},
    {"mango", {"tree"}},
    {"story", {"book"}},
    {"song", {"book"}},
    {"car", {"key", "door", "window"}},
    {"bus", {"door", "window"}},
};

NounPhrase phrase_of(std::string_view english) {
  if (english == "water") return {"water", "पानी", kMasculine};
  if (english == "bank") return {"bank", "बैंक", kMasculine};
  const Noun& noun = thing(english);
  return {noun.english, noun.hindi, noun.agreement()};
}

// Add phrases of two nouns, such as "river water", नदी का पानी.
void write_compounds(Book& book) {
  for (const Compound& compound : kCompounds) {
    const bool money = compound.owner == std::string_view("money");
    const std::string owner =
        (money ? std::string("पैसों") : thing(compound.owner).form(Number::singular, Case::oblique)) + " का";
    for (const char* name : compound.things) {
      if (name == nullptr) continue;
      const NounPhrase what = phrase_of(name);
      const std::string english = words({compound.owner, what.english});
      const std::string hindi = words({possessive(owner, what.agreement), what.hindi});
      book.name(english, hindi);
      if (chosen("the " + english, 400)) book.name("the " + english, hindi);
    }
  }
}

}  // namespace

void write_noun_phrases(Book& book) {
  for (const auto nouns : {goods(), places(), nature(), works(), animals()}) {
    for (const Noun& noun : nouns) {
      if (chosen(noun.english, 700)) book.name(noun.english, noun.hindi);
      if (const std::string english = std::string("the ") + noun.english; chosen(english, 400))
        book.name(english, noun.hindi);
    }
  }
  book.name("bank", "बैंक");
  book.name("the bank", "बैंक");
  book.name("money", "पैसे");
  book.name("the river", "नदी");
  write_described(book, goods(), adjectives_of_goods());
  write_described(book, places(), adjectives_of_places());
  write_described(book, nature(), adjectives_of_nature());
  write_described(book, works(), adjectives_of_works());
  write_compounds(book);
}

}  // namespace regard::demo::phrases
