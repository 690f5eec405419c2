// Sentences with one person as subject and another as object, such as "The man beats the boy" and "The boy
// beats the man".
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

// Case form or postposition of the object in Hindi.
enum class Mark { dative, from, owner_masculine, owner_feminine, on };

struct Deed {
  const char *base, *third, *past, *continuous;
  Mark mark;
  const char* noun;  // noun of a compound verb: मदद in मदद कर
  const char* stem;
  Object object;  // with Object::none the subject has no ने
};
constexpr std::array kDeeds{
    Deed{"beat", "beats", "beat", "beating", Mark::dative, "", "पीट", Object::masculine},
    Deed{"see", "sees", "saw", "", Mark::dative, "", "देख", Object::masculine},
    Deed{"call", "calls", "called", "calling", Mark::dative, "", "बुला", Object::masculine},
    Deed{"teach", "teaches", "taught", "teaching", Mark::dative, "", "पढ़ा", Object::masculine},
    Deed{"push", "pushes", "pushed", "pushing", Mark::dative, "", "धकेल", Object::masculine},
    Deed{"help", "helps", "helped", "helping", Mark::owner_feminine, "मदद", "कर", Object::feminine},
    Deed{"wait for", "waits for", "waited for", "waiting for", Mark::owner_masculine, "इंतज़ार", "कर",
         Object::masculine},
    Deed{"love", "loves", "loved", "", Mark::from, "प्यार", "कर", Object::masculine},
    Deed{"talk to", "talks to", "talked to", "talking to", Mark::from, "बात", "कर", Object::feminine},
    Deed{"meet", "meets", "met", "meeting", Mark::from, "", "मिल", Object::none},
    Deed{"laugh at", "laughs at", "laughed at", "laughing at", Mark::on, "", "हँस", Object::none},
};

std::string marked(const Subject& whom, Mark mark) {
  switch (mark) {
    case Mark::dative:
      return whom.dative;
    case Mark::from:
      return whom.from;
    case Mark::owner_masculine:
      return possessive(whom.owner, kMasculine);
    case Mark::owner_feminine:
      return possessive(whom.owner, kFeminine);
    case Mark::on:
      break;
  }
  return whom.on;
}

void write_deed(Book& book, const Subject& who, const Subject& whom, const Deed& deed, unsigned share) {
  const std::string target = marked(whom, deed.mark);
  const bool ergative = deed.object != Object::none;
  const std::string past = perfective(deed.stem, ergative ? agreement_of(deed.object) : who.agreement);
  const std::string& past_subject = ergative ? who.ergative : who.hindi;
  const bool ambiguous = who.english_plural && std::string_view(deed.base) == deed.past;
  if (const auto english =
          words({who.english, who.english_plural ? deed.base : deed.third, whom.english_object});
      !ambiguous && chosen(english, share))
    book.tell(english, words({who.hindi, target, deed.noun, habitual(deed.stem, who.agreement)}));
  if (const auto english = words({who.english, deed.past, whom.english_object});
      !ambiguous && chosen(english, share))
    book.tell(english, words({past_subject, target, deed.noun, past}));
  if (const auto english = words({who.english, who.be, deed.continuous, whom.english_object});
      *deed.continuous != 0 && chosen(english, share))
    book.tell(english, words({who.hindi, target, deed.noun, ongoing(deed.stem, who.agreement)}));
  if (const auto english = words({who.english, "will", deed.base, whom.english_object});
      chosen(english, share))
    book.tell(english, words({who.hindi, target, deed.noun, future(deed.stem, who.agreement)}));
  if (const auto english = words({who.english, "did not", deed.base, whom.english_object});
      chosen(english, share))
    book.tell(english, words({past_subject, target, deed.noun, "नहीं", past}));
}

// Return true if a person may be subject or object of "beat": males, except "you", "we", children and
// respected people.
bool fights(const Subject& who) {
  return !who.agreement.feminine() && who.english != "you" && who.english != "we" &&
         who.english.find("child") == std::string::npos && (who.english_plural || !who.agreement.plural());
}

// Add "The man beats the boy" and "The boy beats the man", regardless of chosen().
void write_beating(Book& book) {
  const Subject &man = someone("the man"), &boy = someone("the boy");
  for (const auto& [who, whom] : {std::pair{&man, &boy}, std::pair{&boy, &man}})
    book.tell(words({who->english, "beats", whom->english_object}),
              words({who->hindi, whom->dative, habitual("पीट", who->agreement)}));
}

constexpr NounPhrase kGifts[] = {
    {"a book", "किताब", kFeminine},    {"a flower", "फूल", kMasculine},
    {"money", "पैसे", kMasculinePlural}, {"sweets", "मिठाइयाँ", kFemininePlural},
    {"a letter", "चिट्ठी", kFeminine},  {"a toy", "खिलौना", kMasculine},
};

void write_giving(Book& book, const Subject& who, const Subject& whom) {
  for (const NounPhrase& gift : kGifts) {
    if (const auto english = words({who.english, "gave", whom.english_object, gift.english});
        chosen(english, 30))
      book.tell(english, words({who.ergative, whom.dative, gift.hindi, perfective("दे", gift.agreement)}));
    if (const auto english = words({who.english, "will give", whom.english_object, gift.english});
        chosen(english, 21))
      book.tell(english, words({who.hindi, whom.dative, gift.hindi, future("दे", who.agreement)}));
  }
}

// Return true if the object belongs to the subject. Hindi then requires a reflexive: "I met my brother" is
// मैं अपने भाई से मिला.
bool needs_reflexive(const Subject& who, const Subject& whom) {
  return (who.english == "I" || who.english == "we") && whom.english.starts_with("my ");
}

void write_company(Book& book, const Subject& who, const Subject& whom) {
  const std::string together = possessive(whom.owner, kMasculine, Case::oblique) + " साथ";
  if (const auto english = words({who.english, "went to the market with", whom.english_object});
      chosen(english, 74))
    book.tell(english, words({who.hindi, together, "बाज़ार", perfective("जा", who.agreement)}));
  if (const auto english = words({who.english, who.be, "playing with", whom.english_object});
      chosen(english, 74))
    book.tell(english, words({who.hindi, together, ongoing("खेल", who.agreement)}));
  const std::string gift = possessive(whom.owner, kMasculine, Case::oblique) + " लिए";
  if (const auto english = words({who.english, who.was, "making tea for", whom.english_object});
      chosen(english, 58))
    book.tell(english, words({who.hindi, gift, "चाय", was_ongoing("बना", who.agreement)}));
}

}  // namespace

void write_encounters(Book& book) {
  for (const Deed& deed : kDeeds)
    book.lexicon().add_action(
        {deed.base, deed.third, deed.past, deed.continuous, "", "", deed.stem, deed.object, deed.noun});
  for (const NounPhrase& gift : kGifts) book.lexicon().add(gift.english, gift.hindi);
  book.lexicon().add_action({"give", "gives", "gave", "giving", "", "", "दे", Object::masculine});
  book.lexicon().add_action({"make", "makes", "made", "making", "tea", "चाय", "बना", Object::feminine});
  write_beating(book);
  for (const Subject& who : everyone()) {
    const bool pronoun = &who < &people().front();
    for (const Subject& whom : everyone()) {
      // Do not combine two pronouns: "he saw him" is ambiguous, and "I saw me" requires a reflexive.
      if (&who == &whom || (pronoun && &whom < &people().front())) continue;
      if (needs_reflexive(who, whom)) continue;
      for (const Deed& deed : kDeeds) {
        const bool beating = &deed == &kDeeds[0];
        if (!beating || (fights(who) && fights(whom))) write_deed(book, who, whom, deed, beating ? 90 : 15);
      }
      write_giving(book, who, whom);
      write_company(book, who, whom);
    }
  }
}

}  // namespace regard::demo::phrases
