#include "demo/phrasebook.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "demo/phrasebook/articles.h"
#include "demo/phrasebook/book.h"
#include "demo/phrasebook/grammar.h"
#include "demo/phrasebook/spellings.h"
#include "regard/error.h"

namespace regard::demo {
namespace phrases {
namespace {

// Return a hash of the text. Different purposes give independent hashes.
std::uint32_t hash(std::string_view text, std::uint32_t purpose) {
  return philox({place_of(text), 0, 0, 0}, purpose, 0x70687261u)[0];
}

constexpr std::uint32_t kChoosing = 1, kPicking = 2, kHoldingOut = 3;

// Return true if a hash selects the pair to be held out. It selects about 1 of 11 pairs, but 1 of 6 idioms
// and literal uses, because these are fewer and their accuracy is reported separately.
bool is_candidate(const Phrase& phrase) {
  return hash(phrase.english, kHoldingOut) % (phrase.kind == PhraseKind::other ? 11 : 6) == 0;
}

// Mark the sentences of articles(), and hold out these sentences and their variants.
void hold_out_articles(std::vector<Phrase>& book) {
  for (Phrase& phrase : book) {
    phrase.article = std::ranges::any_of(
        articles(), [&](const Article& article) { return phrase.english == article.english; });
    phrase.held_out = is_variant_of_an_article(phrase.english);
  }
}

void hold_out(std::vector<Phrase>& book) {
  constexpr int kEnough = 2;
  hold_out_articles(book);
  std::unordered_map<std::string, int> seen;
  for (const Phrase& phrase : book) {
    if (phrase.held_out || is_candidate(phrase)) continue;
    for (const std::string* side : {&phrase.english, &phrase.hindi}) {
      const std::vector<std::string> words = words_of(*side);
      for (const std::string& word : std::set<std::string>(words.begin(), words.end())) ++seen[word];
    }
  }
  const auto known = [&seen](const std::string& side) {
    for (const std::string& word : words_of(side)) {
      const auto found = seen.find(word);
      if (found == seen.end() || found->second < kEnough) return false;
    }
    return true;
  };
  for (Phrase& phrase : book)
    phrase.held_out =
        phrase.held_out || (is_candidate(phrase) && known(phrase.english) && known(phrase.hindi));
}

std::vector<Phrase> write() {
  Book book;
  add_vocabulary(book.lexicon());
  write_fixed_phrases(book);
  write_actions(book);
  write_descriptions(book);
  write_possessions(book);
  write_encounters(book);
  write_places_and_times(book);
  write_idioms(book);
  write_greetings(book);
  write_countries(book);
  write_leaps(book);
  write_everyday(book);
  write_noun_phrases(book);
  write_articles(book);
  std::vector<Phrase> all = book.take();
  hold_out(all);
  append_spellings(all);
  return all;
}

}  // namespace

bool chosen(std::string_view text, unsigned per_mille) {
  return hash(text, kChoosing) % 1000 < per_mille;
}

std::size_t pick(std::string_view text, std::size_t count) {
  return hash(text, kPicking) % count;
}

std::vector<std::string> words_of(std::string_view sentence) {
  std::string text(sentence);
  for (std::size_t at; (at = text.find("।")) != std::string::npos;) text.replace(at, 3, " ");
  std::vector<std::string> found;
  std::string word;
  for (char c : text + " ") {
    if (std::string_view(" .,?!").find(c) == std::string_view::npos) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!word.empty()) {
      found.push_back(word);
      word.clear();
    }
  }
  return found;
}

void Book::tell(std::string_view english, std::string_view hindi, PhraseKind kind) {
  put(capitalised(english) + ".", std::string(hindi) + "।", kind);
}
void Book::ask(std::string_view english, std::string_view hindi, PhraseKind kind) {
  put(capitalised(english) + "?", std::string(hindi) + "?", kind);
}
void Book::call(std::string_view english, std::string_view hindi, PhraseKind kind) {
  put(capitalised(english) + "!", std::string(hindi) + "!", kind);
}
void Book::name(std::string_view english, std::string_view hindi) {
  put(std::string(english), std::string(hindi), PhraseKind::other);
}
void Book::add(std::span<const Fixed> table, PhraseKind kind) {
  for (const Fixed& pair : table) put(pair.english, pair.hindi, kind);
}

std::vector<Phrase> Book::take() {
  for (Phrase& phrase : phrases_) phrase.links = lexicon_.align(phrase.english, phrase.hindi);
  return std::move(phrases_);
}

void Book::put(std::string english, std::string hindi, PhraseKind kind) {
  const auto [found, is_new] = index_.try_emplace(english, phrases_.size());
  if (is_new) {
    phrases_.push_back({std::move(english), std::move(hindi), kind, false, false, {}});
  } else if (phrases_[found->second].hindi != hindi) {
    throw Error(ErrorKind::internal, "the phrasebook translates '" + english + "' in two ways")
        .found(hindi)
        .expected(phrases_[found->second].hindi);
  }
}

}  // namespace phrases

const char* name_of(PhraseKind kind) noexcept {
  return kind == PhraseKind::idiom ? "idiom" : kind == PhraseKind::literal ? "literal" : "other";
}

std::string links_text(const Phrase& phrase) {
  std::string out;
  for (const WordLink& link : phrase.links)
    out += (out.empty() ? "" : " ") + std::to_string(link.english) + (link.sure ? "-" : "p") +
           std::to_string(link.hindi);
  return out;
}

const std::vector<Phrase>& phrasebook() {
  static const std::vector<Phrase> kBook = phrases::write();
  return kBook;
}

}  // namespace regard::demo
