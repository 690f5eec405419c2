// Divides a long text into windows of token ids, each with the question, for extractive question answering
// (Devlin et al. 2019, section 4.2).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace regard::data {

// A window: the question, followed by a part of the text. `bytes`, `characters` and `words` have one entry
// for each token of the text in this window.
struct QuestionWindow {
  std::vector<std::int32_t> ids, types;
  std::size_t first = 0;  // index in `ids` of the first token of the text
  // range of each token in the text, in bytes and in characters
  std::vector<text::Offsets> bytes, characters;
  std::vector<std::int32_t> words;  // index of the word that contains the token
};

struct WindowSize {
  // maximum number of tokens of a window, including the question and special tokens
  std::int64_t length = 384;
  std::int64_t stride = 128;  // overlap of consecutive windows in tokens of the text
};

// Return the windows in the order of the text, or an empty list if the text has no tokens. Throws
// invalid_input if a window cannot hold the question and a part of the text.
std::vector<QuestionWindow> question_windows(const text::Tokenizer& tokenizer, std::string_view question,
                                             std::string_view text, const WindowSize& size);

}  // namespace regard::data
