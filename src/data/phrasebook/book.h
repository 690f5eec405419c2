// The book while it is written: templates and tables put pairs in.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/phrasebook.h"

namespace regard::data::phrases {

// A pair as a table has it, with its punctuation.
struct Fixed {
  const char* english;
  const char* hindi;
};

class Book {
 public:
  // Punctuation and the capital letter are put on here: tell() ends in "." and "।", ask() in "?", call() in
  // "!". The same pair twice is kept once; the same English with other Hindi throws Error (internal).
  void tell(std::string_view english, std::string_view hindi, PhraseKind kind = PhraseKind::other);
  void ask(std::string_view english, std::string_view hindi, PhraseKind kind = PhraseKind::other);
  void call(std::string_view english, std::string_view hindi, PhraseKind kind = PhraseKind::other);
  void add(std::span<const Fixed> table, PhraseKind kind = PhraseKind::other);

  std::vector<Phrase> take() { return std::move(phrases_); }

 private:
  void put(std::string english, std::string hindi, PhraseKind kind);
  std::vector<Phrase> phrases_;
  std::unordered_map<std::string, std::size_t> index_;
};

// Whether a template says this one: true for about `per_mille` of 1000 texts, by a hash of the text alone.
bool chosen(std::string_view text, unsigned per_mille);
// A number in [0, count) by a hash of the text alone.
std::size_t pick(std::string_view text, std::size_t count);

// The chapters, each a file.
void write_fixed_phrases(Book& book);  // greetings, travel, school, market, family, weather
void write_actions(Book& book);        // somebody does something, in all tenses
void write_descriptions(Book& book);   // something or somebody is so
void write_possessions(Book& book);    // somebody has, needs, likes, feels
void write_encounters(Book& book);     // somebody does something to somebody
void write_places_and_times(Book& book);
void write_idioms(Book& book);  // and the literal sentences beside them

}  // namespace regard::data::phrases
