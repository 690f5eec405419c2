#include "tasks/word_split.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.h"

namespace regard::tasks {
namespace {

constexpr std::array<std::string_view, 6> kWithoutSpaces{"zh", "ja", "th", "lo", "my", "yue"};
// Sets of punctuation. A text belongs to a set if it is a substring of the constant.
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
// punctuation that is joined to the following word
constexpr std::string_view kBefore = "\"'“¡¿([{-";
// punctuation that is joined to the preceding word
constexpr std::string_view kAfter = "\"'.。,，!！?？:：”)]}、";
constexpr char32_t kReplacement = 0xFFFD;

bool is_part(std::string_view all, std::string_view text) {
  return all.find(text) != all.npos;
}

std::string stripped(const std::string& text) {
  const std::u32string all = utf8::code_points(text);
  std::size_t begin = 0, end = all.size();
  while (begin < end && utf8::is_space(all[begin])) ++begin;
  while (end > begin && utf8::is_space(all[end - 1])) --end;
  return utf8::encode(std::u32string_view(all).substr(begin, end - begin));
}

// Group the tokens so that the text of each group consists of complete characters. One character may be
// encoded by several tokens.
std::vector<TokenWord> characters(const text::Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  const std::u32string whole = utf8::code_points(tokenizer.decode(tokens));
  std::vector<TokenWord> all;
  // begin: index of the first token of the group; done: number of characters of `whole` that are in `all`
  std::size_t begin = 0, done = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string text = tokenizer.decode(tokens.subspan(begin, i + 1 - begin));
    const std::u32string points = utf8::code_points(text);
    const std::size_t broken = points.find(kReplacement);
    if (broken != points.npos && done + broken < whole.size() && whole[done + broken] != kReplacement)
      continue;
    all.push_back({text, begin, i});
    begin = i + 1, done += points.size();
  }
  return all;
}

// Merge the word `from` into `to`: at its start if `before` is set, else at its end. The text of `from`
// becomes empty.
void join(TokenWord& to, TokenWord& from, bool before) {
  to.text = before ? from.text + to.text : to.text + from.text;
  if (!from.text.empty()) {
    to.first = std::min(to.first, from.first);
    to.last = std::max(to.last, from.last);
  }
  from.text.clear();
}

void merge_punctuation(std::vector<TokenWord>& words) {
  for (std::size_t i = words.size() < 2 ? 0 : words.size() - 1, j = i; i-- > 0;) {
    if (words[i].text.starts_with(' ') && is_part(kBefore, stripped(words[i].text)))
      join(words[j], words[i], true);
    else
      j = i;
  }
  for (std::size_t i = 0, j = 1; j < words.size(); ++j) {
    if (!words[i].text.ends_with(' ') && is_part(kAfter, words[j].text))
      join(words[i], words[j], false);
    else
      i = j;
  }
  std::erase_if(words, [](const TokenWord& word) { return word.text.empty(); });
}

}  // namespace

std::vector<TokenWord> split_words(const text::Tokenizer& tokenizer, std::span<const std::int32_t> tokens,
                                   const std::string& language) {
  std::vector<TokenWord> words;
  const bool spaces =
      std::find(kWithoutSpaces.begin(), kWithoutSpaces.end(), language) == kWithoutSpaces.end();
  for (TokenWord& part : characters(tokenizer, tokens)) {
    const bool starts =
        !spaces || words.empty() || part.text.starts_with(' ') || is_part(kPunctuation, stripped(part.text));
    if (starts) {
      words.push_back(std::move(part));
    } else {
      words.back().text += part.text;
      words.back().last = part.last;
    }
  }
  merge_punctuation(words);
  return words;
}

}  // namespace regard::tasks
