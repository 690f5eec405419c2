// Collects the sentence pairs of the phrasebook. Each chapter is a function that adds pairs from templates or
// tables.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "demo/phrasebook.h"
#include "demo/phrasebook/lexicon.h"

namespace regard::demo::phrases {

class Book {
 public:
  // Add a pair. Repeated pairs are ignored; the same English with different Hindi throws internal. tell(),
  // ask() and call() capitalise the English sentence and append punctuation: tell() "." and "।", ask() "?",
  // call() "!".
  void tell(std::string_view english, std::string_view hindi, PhraseKind kind = PhraseKind::other);
  void ask(std::string_view english, std::string_view hindi, PhraseKind kind = PhraseKind::other);
  void call(std::string_view english, std::string_view hindi, PhraseKind kind = PhraseKind::other);
  // Add a phrase that is not a sentence, such as "red flower", unchanged.
  void name(std::string_view english, std::string_view hindi);
  void add(std::span<const Fixed> table, PhraseKind kind = PhraseKind::other);

  // Return the lexicon: the words that the templates fill in, with their translations. The alignments of all
  // pairs are computed from it.
  Lexicon& lexicon() { return lexicon_; }

  // Return the pairs with their alignments.
  std::vector<Phrase> take();

 private:
  void put(std::string english, std::string hindi, PhraseKind kind);
  std::vector<Phrase> phrases_;
  std::unordered_map<std::string, std::size_t> index_;
  Lexicon lexicon_;
};

// Return true if the templates include this text. A hash of the text decides; it selects about `per_mille`
// of 1000 texts.
bool chosen(std::string_view text, unsigned per_mille);
// Return a number in [0, count) that depends only on the text.
std::size_t pick(std::string_view text, std::size_t count);

// Return the words of a sentence, split at spaces, without punctuation and with ASCII letters in lower case.
std::vector<std::string> words_of(std::string_view sentence);

// Add the words of words.h and the function words to the lexicon.
void add_vocabulary(Lexicon& lexicon);

// Each of the following functions adds the pairs of one chapter to the book, and the words of the chapter's
// tables to the lexicon.
void write_fixed_phrases(Book& book);  // greetings, travel, school, market, family, weather
void write_actions(Book& book);        // actions in all tenses, such as "The boy is reading a book"
void write_descriptions(Book& book);   // adjectives and comparisons
void write_possessions(Book& book);    // possessions, needs, likes, knowledge and feelings
void write_encounters(Book& book);     // actions between two people, such as "The man beats the boy"
void write_places_and_times(Book& book);
void write_everyday(Book& book);      // everyday statements, such as "He wants water"
void write_noun_phrases(Book& book);  // noun phrases such as "the red flower" and "village school"
void write_idioms(Book& book);        // idioms, and literal uses of the same words
void write_greetings(Book& book);     // names and greetings
void write_countries(Book& book);     // countries and their capitals
void write_leaps(Book& book);         // sentences such as "The fox jumps over the dog" and "The river flows"
void write_articles(Book& book);      // example sentences from texts about attention; see articles.h

}  // namespace regard::demo::phrases
