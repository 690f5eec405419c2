// The task "token-classification": a label for each word, for encoders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "train/task.h"

namespace regard::train {

const TaskTraits& token_classification_traits();
std::unique_ptr<Task> make_token_classification(const RunConfig& config);

// Align words with the tokens of the words joined by spaces: for each token the index of the word that begins
// in it, or -1: special tokens, further tokens of a word. As transformers' word_ids with the first token of
// each word labelled.
std::vector<std::int32_t> first_tokens(const text::Encoding& encoding, const std::vector<std::string>& words);

}  // namespace regard::train
