// The part of Hindi grammar that the phrasebook needs: declension of nouns and adjectives, and verb forms
// with their agreement. Spelling follows the Central Hindi Directorate (गए, गई, चाहिए; nukta in ज़, फ़, ड़, ढ़
// only).
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace regard::demo::phrases {

enum class Gender { masculine, feminine };
enum class Number { singular, plural };
enum class Case { direct, oblique };  // oblique: before a postposition

// The features that an adjective or a verb agrees with. A respected person is plural; first_person matters
// only in the singular (मैं).
struct Agreement {
  Gender gender = Gender::masculine;
  Number number = Number::singular;
  bool first_person = false;

  bool feminine() const { return gender == Gender::feminine; }
  bool plural() const { return number == Number::plural; }
};

inline constexpr Agreement kMasculine{Gender::masculine, Number::singular};
inline constexpr Agreement kFeminine{Gender::feminine, Number::singular};
inline constexpr Agreement kMasculinePlural{Gender::masculine, Number::plural};
inline constexpr Agreement kFemininePlural{Gender::feminine, Number::plural};

// Decline a noun. The declension class follows from gender and ending, except for invariable masculines in -ा
// (राजा).
std::string decline(std::string_view noun, Gender gender, Number number, Case which, bool invariable = false);

// Inflect each word of an adjective. Words that end in -ा inflect (बड़ा, बड़े, बड़ी; नया, नए, नई). Other words
// are unchanged.
std::string inflect(std::string_view adjective, Agreement agreement, Case which = Case::direct);

// Inflect a possessor that ends in का or -रा to agree with the thing possessed. Only its last word inflects
// (सीता का → सीता की).
std::string possessive(std::string_view possessor, Agreement thing, Case which = Case::direct);

std::string is_now(Agreement subject);    // returns है, हैं or हूँ
std::string was_then(Agreement subject);  // returns था, थे, थी or थीं

// Verb forms of a stem (पढ़). `agreement` describes the subject or, if the subject has ने, the object.
std::string habitual(std::string_view stem, Agreement agreement);  // पढ़ता है ("reads")
std::string ongoing(std::string_view stem, Agreement agreement);  // पढ़ रहा है ("is reading")
std::string was_ongoing(std::string_view stem, Agreement agreement);  // पढ़ रहा था ("was reading")
std::string used_to(std::string_view stem, Agreement agreement);  // पढ़ता था ("used to read")
std::string perfective(std::string_view stem, Agreement agreement);  // पढ़ा, पढ़ी ("read"); किया, गया
std::string future(std::string_view stem, Agreement agreement);       // पढ़ेगा ("will read")
std::string subjunctive(std::string_view stem, Agreement agreement);  // पढ़े, पढ़ें ("may read")
std::string infinitive(std::string_view stem, Agreement object = {});  // पढ़ना, पढ़नी ("to read")
std::string familiar_command(std::string_view stem);                   // पढ़ो ("read!", to तुम)
std::string polite_command(std::string_view stem);  // पढ़िए ("please read", to आप)

// Join the words that are not empty with single spaces.
std::string words(std::initializer_list<std::string_view> parts);
// Capitalise the first letter of an English sentence: "a boy" → "A boy".
std::string capitalised(std::string_view english);
// Put "a" or "an" before the word.
std::string with_article(std::string_view english);

}  // namespace regard::demo::phrases
