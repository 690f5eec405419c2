#include "demo/phrasebook/spellings.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "demo/phrasebook/book.h"

namespace regard::demo::phrases {
namespace {

class Spellings {
 public:
  explicit Spellings(std::vector<Phrase>& book) : book_(book) {
    for (const Phrase& phrase : book) texts_.insert(phrase.english);
  }

  void append(const Phrase& phrase) {
    const bool statement = phrase.english.ends_with('.'), question = phrase.english.ends_with('?');
    if (!statement && !question) return;
    const std::size_t mark = std::string_view(statement ? "।" : "?").size();
    const std::string english = phrase.english.substr(0, phrase.english.size() - 1);
    const std::string hindi = phrase.hindi.substr(0, phrase.hindi.size() - mark);
    if (chosen("without mark: " + english, 60)) put(phrase, english, hindi);
    if (statement && chosen("exclamation: " + english, 35)) put(phrase, english + "!", hindi + "!");
  }

 private:
  void put(const Phrase& phrase, std::string english, std::string hindi) {
    if (!texts_.insert(english).second) return;
    Phrase spelling = phrase;
    spelling.english = std::move(english), spelling.hindi = std::move(hindi), spelling.article = false;
    book_.push_back(std::move(spelling));
  }

  std::vector<Phrase>& book_;
  std::set<std::string> texts_;
};

}  // namespace

void append_spellings(std::vector<Phrase>& book) {
  const std::vector<Phrase> original = book;
  Spellings spellings(book);
  for (const Phrase& phrase : original) spellings.append(phrase);
}

}  // namespace regard::demo::phrases
