// The phrasebook's words: who acts, what is spoken of, what is done.
#pragma once

#include <span>
#include <string>

#include "data/phrasebook/grammar.h"

namespace regard::data::phrases {

// A thing, an animal or a person that can be counted.
struct Noun {
  const char* english;
  const char* english_plural;
  const char* hindi;
  Gender gender;
  bool invariable = false;

  std::string form(Number number, Case which) const {
    return decline(hindi, gender, number, which, invariable);
  }
  Agreement agreement(Number number = Number::singular) const { return {gender, number}; }
};

std::span<const Noun> goods();     // what one can own
std::span<const Noun> portable();  // those of them that go into a bag
std::span<const Noun> places();
std::span<const Noun> nature();  // nobody's: trees, rivers, roads
std::span<const Noun> works();   // stories, songs, letters
std::span<const Noun> animals();
const Noun& thing(std::string_view english);  // the one called so, of all these; throws if none

// Someone who can be subject, object or owner, with all forms that differ.
struct Subject {
  std::string english;          // "the boy"
  std::string english_object;   // "the boy"; "me"
  std::string english_owner;    // "the boy's"; "my"
  bool english_plural = false;  // takes the verb without -s
  std::string be, was;          // am, is, are; was, were
  std::string hindi;            // लड़का
  std::string ergative;         // लड़के ने
  std::string dative;           // लड़के को; मुझे
  std::string owner;            // लड़के का; मेरा (see possessive())
  std::string from;             // लड़के से; मुझसे
  std::string on;               // लड़के पर; मुझ पर
  Agreement agreement;
};

// I, you (आप), he, she, we, they.
std::span<const Subject> pronouns();
// The boy, my sister, the farmers, Ravi, …
std::span<const Subject> people();
// Both, pronouns first.
std::span<const Subject> everyone();
const Subject& someone(std::string_view english);  // throws if there is none

// What the verb agrees with in the perfective tenses.
enum class Object {
  none,       // intransitive: with the subject, which stands without ने
  masculine,  // the subject takes ने, the verb agrees with the object; also when the object has को
  feminine,
  masculine_plural,
  feminine_plural,
};
Agreement agreement_of(Object object);

// Something that someone does: "read a book", किताब पढ़.
struct Action {
  const char *base, *third, *past, *continuous;  // read, reads, read, reading
  const char* english_rest;                      // "a book"; "" if there is nothing
  const char* hindi_rest;                        // किताब
  const char* stem;                              // पढ़
  Object object = Object::none;
  const char* noun =
      "";  // बंद, काम: what makes one verb with the stem; question words stand before it, नहीं after
};

std::span<const Action> actions();  // what people do

struct Adjective {
  const char* english;
  const char* hindi;
};
std::span<const Adjective> adjectives_of_goods();
std::span<const Adjective> adjectives_of_places();
std::span<const Adjective> adjectives_of_nature();
std::span<const Adjective> adjectives_of_works();
std::span<const Adjective> adjectives_of_people();  // after "is": tired, busy, …

}  // namespace regard::data::phrases
