// Adds sentences about actions: statements, negations, questions and commands in all tenses.
#include <array>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

// A subject and an action, with the forms of both that the sentences of several tenses use.
struct Clause {
  const Subject& who;
  const Action& what;

  bool ergative() const { return what.object != Object::none; }
  Agreement agreement() const { return who.agreement; }
  // Return the agreement of the verb in the perfective.
  Agreement perfective_agreement() const { return ergative() ? agreement_of(what.object) : who.agreement; }
  const std::string& perfective_subject() const { return ergative() ? who.ergative : who.hindi; }
  const char* present() const { return who.english_plural ? what.base : what.third; }
  // Return true if the English present and past are the same, as in "I read a book".
  bool past_is_ambiguous() const { return who.english_plural && std::string_view(what.base) == what.past; }
};

constexpr std::array<Fixed, 4> kPast{
    {{"", ""}, {"yesterday", "कल"}, {"in the morning", "सुबह"}, {"today", "आज"}}};
constexpr std::array<Fixed, 4> kFuture{
    {{"", ""}, {"tomorrow", "कल"}, {"in the evening", "शाम को"}, {"today", "आज"}}};
constexpr std::array<Fixed, 4> kCommanded{
    {{"now", "अब"}, {"today", "आज"}, {"tomorrow", "कल"}, {"in the evening", "शाम को"}}};

void write_present(Book& book, const Clause& c) {
  const auto& [who, what] = c;
  if (const auto english = words({who.english, c.present(), what.english_rest, "every day"});
      chosen(english, 82))
    book.tell(english,
              words({who.hindi, "हर दिन", what.hindi_rest, what.noun, habitual(what.stem, c.agreement())}));
  if (const auto english =
          words({who.english, who.english_plural ? "do not" : "does not", what.base, what.english_rest});
      chosen(english, 57))
    book.tell(english,
              words({who.hindi, what.hindi_rest, what.noun, "नहीं", habitual(what.stem, c.agreement())}));
  if (const auto english = words({who.english, who.be, what.continuous, what.english_rest});
      chosen(english, 106))
    book.tell(english, words({who.hindi, what.hindi_rest, what.noun, ongoing(what.stem, c.agreement())}));
  if (const auto english = words({who.be, who.english, what.continuous, what.english_rest});
      chosen(english, 66))
    book.ask(english,
             words({"क्या", who.hindi, what.hindi_rest, what.noun, ongoing(what.stem, c.agreement())}));
  if (const auto english = words({"why", who.be, who.english, what.continuous, what.english_rest});
      chosen(english, 40))
    book.ask(english,
             words({who.hindi, what.hindi_rest, "क्यों", what.noun, ongoing(what.stem, c.agreement())}));
}

void write_past(Book& book, const Clause& c) {
  const auto& [who, what] = c;
  const std::string verb = perfective(what.stem, c.perfective_agreement());
  const std::string& subject = c.perfective_subject();
  const std::string plain = words({who.english, what.past, what.english_rest});
  std::size_t which = pick(plain, kPast.size());
  if (c.past_is_ambiguous()) which = 1;
  if (const auto english = words({plain, kPast[which].english}); chosen(english, 130))
    book.tell(english, words({subject, kPast[which].hindi, what.hindi_rest, what.noun, verb}));
  if (const auto english = words({who.english, "did not", what.base, what.english_rest}); chosen(english, 66))
    book.tell(english, words({subject, what.hindi_rest, what.noun, "नहीं", verb}));
  if (const auto english = words({"did", who.english, what.base, what.english_rest}); chosen(english, 66))
    book.ask(english, words({"क्या", subject, what.hindi_rest, what.noun, verb}));
  if (const auto english = words({who.english, who.was, what.continuous, what.english_rest});
      chosen(english, 66))
    book.tell(english, words({who.hindi, what.hindi_rest, what.noun, was_ongoing(what.stem, c.agreement())}));
}

void write_future(Book& book, const Clause& c) {
  const auto& [who, what] = c;
  const std::string verb = future(what.stem, c.agreement());
  const std::string plain = words({who.english, "will", what.base, what.english_rest});
  const Fixed& when = kFuture[pick(plain, kFuture.size())];
  if (const auto english = words({plain, when.english}); chosen(english, 106))
    book.tell(english, words({who.hindi, when.hindi, what.hindi_rest, what.noun, verb}));
  if (const auto english = words({who.english, "will not", what.base, what.english_rest});
      chosen(english, 57))
    book.tell(english, words({who.hindi, what.hindi_rest, what.noun, "नहीं", verb}));
  if (const auto english = words({"when will", who.english, what.base, what.english_rest});
      chosen(english, 50))
    book.ask(english, words({who.hindi, what.hindi_rest, "कब", what.noun, verb}));
}

// Add wishes, abilities and duties. After को the infinitive agrees with the object.
void write_modals(Book& book, const Clause& c) {
  const auto& [who, what] = c;
  const Agreement object = agreement_of(what.object);
  if (const auto english =
          words({who.english, who.english_plural ? "want" : "wants", "to", what.base, what.english_rest});
      chosen(english, 57))
    book.tell(english, words({who.hindi, what.hindi_rest, what.noun, infinitive(what.stem),
                              habitual("चाह", c.agreement())}));
  if (const auto english = words({who.english, "can", what.base, what.english_rest}); chosen(english, 57))
    book.tell(english,
              words({who.hindi, what.hindi_rest, what.noun, what.stem, habitual("सक", c.agreement())}));
  if (const auto english = words({who.english, "should", what.base, what.english_rest}); chosen(english, 50))
    book.tell(english,
              words({who.dative, what.hindi_rest, what.noun, infinitive(what.stem, object), "चाहिए"}));
  if (const auto english =
          words({who.english, who.english_plural ? "have to" : "has to", what.base, what.english_rest});
      chosen(english, 50))
    book.tell(english,
              words({who.dative, what.hindi_rest, what.noun, infinitive(what.stem, object), is_now(object)}));
}

// Add sentences without a named subject: commands and questions with "who".
void write_alone(Book& book, const Action& what) {
  const std::string english = words({what.base, what.english_rest});
  const auto say = [&](const char* before, const char* negation, const std::string& verb) {
    return words({before, what.hindi_rest, what.noun, negation, verb});
  };
  book.tell(english, say("", "", familiar_command(what.stem)));
  book.tell("please " + english, say("कृपया", "", polite_command(what.stem)));
  book.tell("do not " + english, say("", "मत", familiar_command(what.stem)));
  book.tell("let us " + english, say("चलो", "", subjunctive(what.stem, kMasculinePlural)));
  const Fixed& when = kCommanded[pick(english, kCommanded.size())];
  const auto say_when = [&](const char* before, const char* negation, const std::string& verb) {
    return words({before, when.hindi, what.hindi_rest, what.noun, negation, verb});
  };
  book.tell(words({english, when.english}), say_when("", "", familiar_command(what.stem)));
  book.tell(words({"please", english, when.english}), say_when("कृपया", "", polite_command(what.stem)));
  book.tell(words({"do not", english, when.english}), say_when("", "मत", familiar_command(what.stem)));
  const bool ergative = what.object != Object::none;
  book.ask(words({"who is", what.continuous, what.english_rest}),
           say("कौन", "", ongoing(what.stem, kMasculine)));
  book.ask(words({"who", what.past, what.english_rest}),
           say(ergative ? "किसने" : "कौन", "", perfective(what.stem, agreement_of(what.object))));
}

// Add sentences such as "The boy is reading a book and the girl is drinking tea", for 25 % of the pairs of
// people.
void write_pairs(Book& book) {
  for (const Subject& first : people()) {
    for (const Subject& second : people()) {
      if (&first == &second) continue;
      const std::string names = first.english + second.english;
      if (!chosen(names, 246)) continue;
      const Action& one = actions()[pick(names + "1", actions().size())];
      const Action& other = actions()[pick(names + "2", actions().size())];
      if (&one == &other) continue;
      book.tell(words({first.english, first.be, one.continuous, one.english_rest, "and", second.english,
                       second.be, other.continuous, other.english_rest}),
                words({first.hindi, one.hindi_rest, one.noun, ongoing(one.stem, first.agreement), "और",
                       second.hindi, other.hindi_rest, other.noun, ongoing(other.stem, second.agreement)}));
    }
  }
}

}  // namespace

void write_actions(Book& book) {
  for (const Action& what : actions()) book.lexicon().add_action(what);
  for (const auto& times : {kPast, kFuture})
    for (const Fixed& when : times) book.lexicon().add(when.english, when.hindi);
  book.lexicon().add("every day", "हर दिन");
  for (const Action& what : actions()) {
    for (const Subject& who : everyone()) {
      const Clause clause{who, what};
      write_present(book, clause);
      write_past(book, clause);
      write_future(book, clause);
      write_modals(book, clause);
    }
    write_alone(book, what);
  }
  write_pairs(book);
}

}  // namespace regard::demo::phrases
