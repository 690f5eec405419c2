#include "demo/phrasebook/lexicon.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "demo/phrasebook/book.h"

namespace regard::demo::phrases {
namespace {

using Words = std::vector<std::string>;

constexpr std::array kLeading{"the", "a", "an", "to", "in", "on", "at"};
constexpr std::array kTrailing{"ने", "को", "का", "की", "के", "से", "में", "पर"};
// kBefore: English words that may be linked with the translation of the words after them. kAfter: Hindi words
// that may be linked with the translation of the word before them.
constexpr std::array kBefore{"the", "a",  "an",  "do", "does", "did",  "will", "to",  "let", "us",
                             "is",  "am", "are", "be", "was",  "were", "have", "has", "had"};
constexpr std::array kAfter{"ने",   "को", "का", "की", "के",    "से",  "में",  "पर",   "रहा", "रहे",  "रही",
                            "है",   "हैं",  "हूँ",  "था", "थे",    "थी", "थीं", "दिया", "दी",  "दिए", "दीं",
                            "गया", "गए", "गई", "गईं", "लिया", "ली", "लीं", "लिए",  "हुआ",  "हुई",  "हुए"};

template <std::size_t N>
bool is_one_of(const std::array<const char*, N>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

Words stripped_english(std::string_view text) {
  Words all = words_of(text);
  while (all.size() > 1 && is_one_of(kLeading, all.front())) all.erase(all.begin());
  return all;
}

Words stripped_hindi(std::string_view text) {
  Words all = words_of(text);
  while (all.size() > 1 && is_one_of(kTrailing, all.back())) all.pop_back();
  return all;
}

std::string joined(std::span<const std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : " ") + part;
  return out;
}

// Return the words between spaces, without punctuation and in lower case. A word may be empty.
Words tokens_of(std::string_view sentence) {
  Words all;
  while (!sentence.empty()) {
    const std::size_t space = sentence.find(' ');
    all.push_back(joined(words_of(sentence.substr(0, space))));
    sentence = space == std::string_view::npos ? std::string_view() : sentence.substr(space + 1);
  }
  return all;
}

using Entries = std::unordered_map<std::string, std::vector<std::string>>;

void enter(Entries& entries, const Words& english, const Words& hindi) {
  if (english.empty() || hindi.empty()) return;
  std::vector<std::string>& all = entries[joined(english)];
  if (const std::string one = joined(hindi); std::ranges::find(all, one) == all.end()) all.push_back(one);
}

constexpr std::array kAgreements{kMasculine, kFeminine, kMasculinePlural, kFemininePlural,
                                 Agreement{Gender::masculine, Number::singular, true}};

// Return all forms of the verb without the auxiliaries है and था: पढ़ता है → पढ़ता, खोल देगा → खोल देगा.
std::set<std::string> forms_of(const char* stem) {
  std::set<std::string> forms{stem, familiar_command(stem), polite_command(stem)};
  for (const Agreement& agreement : kAgreements)
    for (const std::string& form :
         {habitual(stem, agreement), used_to(stem, agreement), perfective(stem, agreement),
          future(stem, agreement), subjunctive(stem, agreement), infinitive(stem, agreement)})
      forms.insert(joined(stripped_hindi(form)));
  std::set<std::string> heads;
  for (std::string form : forms) {
    for (const char* last : {" है", " हैं", " हूँ", " था", " थे", " थी", " थीं"})
      if (form.ends_with(last)) form.erase(form.size() - std::string_view(last).size());
    heads.insert(form);
  }
  return heads;
}

// Computes the links of one pair of sentences.
class Alignment {
 public:
  Alignment(std::string_view english, std::string_view hindi)
      : english_(tokens_of(english)),
        hindi_(tokens_of(hindi)),
        english_linked_(english_.size()),
        hindi_linked_(hindi_.size()) {}

  void apply(const Entries& entries, bool again) {
    const std::size_t longest = std::min<std::size_t>(english_.size(), 8);
    for (std::size_t length = longest; length > 0; --length)
      for (std::size_t i = 0; i + length <= english_.size(); ++i)
        if (const auto found = entries.find(joined(std::span(english_).subspan(i, length)));
            found != entries.end())
          link(found->first, length, found->second, again);
  }

  void link_function_words(const std::unordered_map<std::string, bool>& modifiers) {
    const std::set<WordLink> before = links_;
    for (std::size_t i = english_.size(); i-- > 0;) {
      if (english_linked_[i] || !is_one_of(kBefore, english_[i])) continue;
      std::size_t next = i + 1;
      while (next < english_.size() && !english_linked_[next]) ++next;
      for (bool more = true; more && next < english_.size(); ++next) {
        more = modifiers.count(english_[next]) != 0;
        for (const WordLink& one : before)
          if (one.english == next) links_.insert({i, one.hindi, false});
      }
    }
    for (std::size_t j = 1; j < hindi_.size(); ++j) {
      if (hindi_linked_[j] || !is_one_of(kAfter, hindi_[j])) continue;
      std::size_t head = j - 1;
      while (head > 0 && !hindi_linked_[head] && is_one_of(kAfter, hindi_[head])) --head;
      for (const WordLink& one : before)
        if (one.hindi == head) links_.insert({one.english, j, false});
    }
  }

  std::vector<WordLink> take() const { return {links_.begin(), links_.end()}; }

 private:
  // Return the positions at which the phrase occurs. Unless `again` is set, leave out positions with a linked
  // word.
  static std::vector<std::size_t> places(const Words& sentence, const std::vector<bool>& linked,
                                         std::string_view phrase, std::size_t length, bool again) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i + length <= sentence.size(); ++i) {
      bool free = phrase.starts_with(sentence[i]);
      for (std::size_t k = i; k < i + length; ++k) free = free && (again || !linked[k]);
      if (free && joined(std::span(sentence).subspan(i, length)) == phrase) found.push_back(i);
    }
    return found;
  }

  void link(const std::string& english, std::size_t length, const std::vector<std::string>& translations,
            bool again) {
    std::vector<std::pair<std::size_t, std::string_view>> longest_first;  // number of words, text
    for (const std::string& one : translations)
      longest_first.emplace_back(static_cast<std::size_t>(std::ranges::count(one, ' ')) + 1, one);
    std::ranges::stable_sort(longest_first, std::greater<>(), [](const auto& one) { return one.first; });
    for (const auto& [size, hindi] : longest_first) {
      const auto here = places(english_, english_linked_, english, length, again);
      if (here.empty()) continue;
      const auto there = places(hindi_, hindi_linked_, hindi, size, false);
      if (here.size() != there.size()) continue;
      for (std::size_t k = 0; k < here.size(); ++k)
        for (std::size_t i = here[k]; i < here[k] + length; ++i)
          for (std::size_t j = there[k]; j < there[k] + size; ++j) {
            links_.insert({i, j, length == 1 && size == 1 && !again});
            english_linked_[i] = hindi_linked_[j] = true;
          }
    }
  }

  Words english_, hindi_;
  std::vector<bool> english_linked_, hindi_linked_;
  std::set<WordLink> links_;
};

}  // namespace

void Lexicon::add(std::string_view english, std::string_view hindi) {
  enter(entries_, stripped_english(english), stripped_hindi(hindi));
}

void Lexicon::add_all(std::initializer_list<Fixed> entries) {
  for (const Fixed& one : entries) add(one.english, one.hindi);
}

void Lexicon::also(std::string_view english, std::string_view hindi) {
  enter(extra_, stripped_english(english), stripped_hindi(hindi));
}

void Lexicon::add_noun(const Noun& noun) {
  for (const Case which : {Case::direct, Case::oblique}) {
    add(noun.english, noun.form(Number::singular, which));
    add(noun.english_plural, noun.form(Number::plural, which));
  }
}

void Lexicon::add_person(const Subject& who) {
  const auto last = [](const std::string& text) { return words_of(text).back(); };
  // The two words of a phrase such as "my brother" are translated separately.
  const bool owned = who.english.starts_with("my ");
  const auto enter_person = [&](const std::string& english, const std::string& hindi) {
    const Words kept = stripped_hindi(hindi);
    if (owned)
      add(last(english), kept.back());
    else
      add(english, joined(kept));
  };
  for (const std::string* hindi : {&who.hindi, &who.ergative, &who.dative, &who.from, &who.on}) {
    enter_person(who.english, *hindi);
    enter_person(who.english_object, *hindi);
  }
  for (const Agreement& thing : kAgreements)
    for (const Case which : {Case::direct, Case::oblique})
      enter_person(who.english_owner, possessive(who.owner, thing, which));
}

void Lexicon::add_adjective(std::string_view english, std::string_view hindi) {
  for (const Agreement& agreement : kAgreements)
    for (const Case which : {Case::direct, Case::oblique}) add(english, inflect(hindi, agreement, which));
  modifiers_[joined(stripped_english(english))] = true;
}

void Lexicon::add_action(const Action& what) {
  add(what.english_rest, what.hindi_rest);
  const bool joint = *what.noun != 0;
  for (const char* english : {what.base, what.third, what.past, what.continuous}) {
    if (joint) add(english, what.noun);
    for (const std::string& form : forms_of(what.stem))
      if (!joint)
        add(english, form);
      else if (!is_one_of(kTrailing, form))  // की is also a form of कर
        also(english, form);
  }
}

void Lexicon::add_spot(std::string_view english, std::string_view hindi) {
  const Words words = words_of(english), translated = words_of(hindi);
  if (words.size() == 1) return add(english, hindi);
  if (words.size() != 2 && (words.size() != 3 || words[1] != "the")) return;
  add(words.front(), translated.back());
  add(words.back(), translated.front());
}

std::vector<WordLink> Lexicon::align(std::string_view english, std::string_view hindi) const {
  Alignment alignment(english, hindi);
  alignment.apply(entries_, false);
  alignment.apply(extra_, true);
  alignment.link_function_words(modifiers_);
  return alignment.take();
}

}  // namespace regard::demo::phrases
