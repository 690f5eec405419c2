// A tokenizer of whole words, trained here, in the form of a Hugging Face tokenizer.json: the commonest words
// of a corpus, by falling count and among equals by their bytes, as that library's trainer has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/tokenizer.h"
#include "text/training_pipeline.h"

namespace regard::text {

struct WordTrainingOptions {
  std::size_t vocabulary_size = 30000;  // special tokens included
  std::int64_t min_frequency = 1;       // a rarer word is <unk>
  WordRule words = WordRule::signs;     // decode puts one space between words
  bool normalize = true;                // to Unicode's normal form C
  bool lower_case = false;
  bool end_token = false;  // encode adds </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";  // becomes a special token if it is not among them
};

// Deterministic: the same lines give the same tokenizer for any number of threads. `pool` may be null.
// Throws usage if the vocabulary cannot hold the special tokens.
std::shared_ptr<const Tokenizer> train_words(const LineSource& lines, const WordTrainingOptions& options,
                                             ThreadPool* pool = nullptr);

}  // namespace regard::text
