// The vocabulary of the phrasebook: nouns, people, actions and adjectives.
#pragma once

#include <span>
#include <string>

#include "demo/phrasebook/grammar.h"

namespace regard::demo::phrases {

// An English–Hindi pair in a table: a sentence with its punctuation, a phrase, or an entry of the lexicon.
struct Fixed {
  const char* english;
  const char* hindi;
};

// A noun phrase, with the agreement of its verb in Hindi.
struct NounPhrase {
  const char* english;
  const char* hindi;
  Agreement agreement;
};

// A countable noun: a thing, a place or an animal.
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

std::span<const Noun> goods();     // things that a person can own
std::span<const Noun> portable();  // the goods that fit in a bag
std::span<const Noun> places();
std::span<const Noun> nature();  // things that nobody owns: trees, rivers, roads
std::span<const Noun> works();   // stories, songs, letters
std::span<const Noun> animals();
// Return the noun with this English name from the lists above. Throws internal if there is none.
const Noun& thing(std::string_view english);

// A person who can be subject, object or owner, with the English and Hindi forms.
struct Subject {
  std::string english;          // such as "the boy"
  std::string english_object;   // such as "the boy"; "me"
  std::string english_owner;    // such as "the boy's"; "my"
  bool english_plural = false;  // uses the verb form without -s, like "I" and "you"
  std::string be, was;          // am, is, are; was, were
  std::string hindi;            // such as लड़का
  std::string ergative;         // such as लड़के ने
  std::string dative;           // such as लड़के को; मुझे
  std::string owner;            // such as लड़के का; मेरा (see possessive())
  std::string from;             // such as लड़के से; मुझसे
  std::string on;               // such as लड़के पर; मुझ पर
  Agreement agreement;
};

// Return the pronouns I, you (आप), he, she, we, they.
std::span<const Subject> pronouns();
// Return the other persons: the boy, my sister, the farmers, Ravi, …
std::span<const Subject> people();
// Return the pronouns, followed by the other persons.
std::span<const Subject> everyone();
// Return the element of everyone() with this English name. Throws internal if there is none.
const Subject& someone(std::string_view english);

// Gender and number of the object that the verb agrees with in the perfective tenses.
enum class Object {
  none,       // intransitive: the verb agrees with the subject, which has no ने
  masculine,  // the subject has ने; the object is masculine singular or has को
  feminine,
  masculine_plural,
  feminine_plural,
};
Agreement agreement_of(Object object);

// An action with its object: "read a book", किताब पढ़.
struct Action {
  const char *base, *third, *past, *continuous;  // such as read, reads, read, reading
  const char* english_rest;                      // such as "a book"; may be ""
  const char* hindi_rest;                        // such as किताब ("book")
  const char* stem;                              // such as पढ़ ("read")
  Object object = Object::none;
  // Noun or adjective of a compound verb, such as काम or बंद. Question words precede it; नहीं follows it.
  const char* noun = "";
};

std::span<const Action> actions();  // actions of people, such as "read a book"

struct Adjective {
  const char* english;
  const char* hindi;
};
std::span<const Adjective> adjectives_of_goods();
std::span<const Adjective> adjectives_of_places();
std::span<const Adjective> adjectives_of_nature();
std::span<const Adjective> adjectives_of_works();
std::span<const Adjective> adjectives_of_people();  // adjectives after "is": tired, busy, …

}  // namespace regard::demo::phrases
