#include "text/sentences.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/utf8.h"
#include "text/unicode.h"

namespace regard::text {
namespace {

bool is_one_of(char32_t letter, std::u32string_view set) {
  return set.find(letter) != set.npos;
}

bool ends_always(char32_t letter) {
  return is_one_of(letter, U"。！？｡।॥");
}

bool ends_before_space(char32_t letter) {
  return is_one_of(letter, U".!?…");
}

bool closes(char32_t letter) {
  return is_one_of(letter, U"\"')]}»›”’」』）】");
}

bool is_small(char32_t letter) {
  return unicode::category(letter) == unicode::Category::letter_lower;
}

// Return the last word before a full stop, without the full stop.
std::u32string_view last_word(std::u32string_view before) {
  std::size_t begin = before.size();
  while (begin > 0 && !utf8::is_space(before[begin - 1]) && !closes(before[begin - 1]) &&
         !is_one_of(before[begin - 1], U"([{“‘«"))
    --begin;
  return before.substr(begin);
}

// Return true for words whose full stop never ends a sentence: titles, and abbreviations that are always
// followed by more text.
bool is_abbreviation(std::u32string_view word) {
  static constexpr std::array<std::u32string_view, 40> kWords{
      U"Mr",  U"Mrs", U"Ms",   U"Dr",  U"Prof", U"St",  U"Sr",  U"Jr",   U"Gen", U"Col",
      U"Lt",  U"Sgt", U"Capt", U"Rev", U"Hon",  U"Sen", U"Rep", U"Gov",  U"vs",  U"e.g",
      U"i.e", U"cf",  U"No",   U"Nr",  U"Vol",  U"Fig", U"Eq",  U"pp",   U"ca",  U"approx",
      U"Hr",  U"Fr",  U"z.B",  U"d.h", U"bzw",  U"vgl", U"Mme", U"Mlle", U"Sra", U"M"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Return true if the full stop after `before` (the sentence so far) is part of the last word.
bool belongs_to_word(std::u32string_view before) {
  const std::u32string_view word = last_word(before);
  if (word.empty()) return false;
  if (word.size() == 1 && unicode::category(word[0]) == unicode::Category::letter_upper) return true;
  const bool number = std::all_of(word.begin(), word.end(), [](char32_t c) { return unicode::is_number(c); });
  return is_abbreviation(word) || (number && word.size() == before.size());
}

class Splitter {
 public:
  Splitter(std::string_view text, std::size_t most)
      : text_(text), letters_(utf8::code_points(text)), most_(most) {}

  std::vector<Sentence> run() {
    skip_space();
    begin_ = at_;
    while (at_ < letters_.size() && sentences_.size() < most_) {
      const char32_t letter = letters_[at_];
      if (letter == U'\n')
        finish();
      else if (ends_always(letter) || ends_before_space(letter))
        mark(letter);
      else
        ++at_;
    }
    if (sentences_.size() < most_) finish();
    return std::move(sentences_);
  }

 private:
  void mark(char32_t first) {
    const std::size_t place = at_;
    bool always = false;
    while (at_ < letters_.size() && (ends_always(letters_[at_]) || ends_before_space(letters_[at_])))
      always = ends_always(letters_[at_++]) || always;
    const bool alone = at_ == place + 1;
    while (at_ < letters_.size() && closes(letters_[at_])) ++at_;
    if (always) return finish();
    if (at_ < letters_.size() && !utf8::is_space(letters_[at_])) return;
    if (const std::size_t next = next_letter(); next < letters_.size() && is_small(letters_[next])) return;
    const std::u32string_view before = std::u32string_view(letters_).substr(begin_, place - begin_);
    if (first == U'.' && alone && at_ < letters_.size() && belongs_to_word(before)) return;
    finish();
  }

  // Return the position of the first letter or digit at or after at_. All calls together take linear time.
  std::size_t next_letter() {
    next_letter_ = std::max(next_letter_, at_);
    while (next_letter_ < letters_.size() && !is_letter_or_digit(letters_[next_letter_])) ++next_letter_;
    return next_letter_;
  }

  static bool is_letter_or_digit(char32_t letter) {
    return unicode::is_letter(letter) || unicode::is_number(letter);
  }

  void skip_space() {
    for (; at_ < letters_.size() && utf8::is_space(letters_[at_]); ++at_) advance_byte();
  }
  void advance_byte() { byte_ += static_cast<std::size_t>(utf8::decode(text_, byte_).size); }

  // End the sentence at at_ and consume the white space after it.
  void finish() {
    std::size_t end = at_;
    while (end > begin_ && utf8::is_space(letters_[end - 1])) --end;
    const std::size_t first = byte_;
    for (std::size_t i = begin_; i < end; ++i) advance_byte();
    const std::size_t last = byte_;
    at_ = end;
    skip_space();
    if (last > first)
      sentences_.push_back({text_.substr(first, last - first), text_.substr(last, byte_ - last)});
    begin_ = at_;
  }

  std::string_view text_;
  std::u32string letters_;
  std::vector<Sentence> sentences_;
  std::size_t most_;
  std::size_t at_ = 0, begin_ = 0;  // current position and start of the sentence, in code points
  std::size_t next_letter_ = 0;     // the text [at_, next_letter_) contains no letter or digit
  std::size_t byte_ = 0;            // byte offset of begin_; out of date only inside finish()
};

}  // namespace

std::vector<Sentence> split_sentences(std::string_view text, std::size_t most) {
  return Splitter(text, most).run();
}

}  // namespace regard::text
