// The task "token-classification": predict a label for each word, with an encoder.
#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "train/task.h"

namespace regard::train {

const TaskTraits& token_classification_traits();

// Align words with the tokens of their text, which consists of the words joined by spaces. Return for each
// token the index of the word that begins in it, or −1 for special tokens and for the later tokens of a word.
// The result equals transformers' word_ids if only the first token of each word has a label.
std::vector<std::int32_t> first_tokens(const text::Encoding& encoding, const std::vector<std::string>& words);

}  // namespace regard::train
