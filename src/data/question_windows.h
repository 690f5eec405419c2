// A question with the parts of a long text, as windows of token ids for extractive question answering (Devlin
// et al. 2019, section 4.2).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace regard::data {

// The question, then a part of the text. One entry of `bytes`, `characters` and `words` for each token of the
// text; they are [tokens of the text in this window], the first of which is token `first` of `ids`.
struct QuestionWindow {
  std::vector<std::int32_t> ids, types;
  std::size_t first = 0;
  std::vector<text::Offsets> bytes, characters;  // places in the text
  std::vector<std::int32_t> words;               // index of the token's word
};

struct WindowSize {
  std::int64_t length = 384;  // tokens, with question and special tokens
  std::int64_t stride = 128;  // tokens of the text that neighbouring windows have in common
};

// Return the windows in the order of the text; none if the text has no tokens. Throws invalid_input if the
// question leaves no room for the text.
std::vector<QuestionWindow> question_windows(const text::Tokenizer& tokenizer, std::string_view question,
                                             std::string_view text, const WindowSize& size);

}  // namespace regard::data
