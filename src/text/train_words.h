// Train a word-level tokenizer in the format of a Hugging Face tokenizer.json. Its tokens are the most
// frequent words of a corpus, sorted by decreasing count, then by bytes, as in Hugging Face's trainer.
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
  std::size_t vocabulary_size = 30000;  // number of tokens, including special tokens
  std::int64_t min_frequency = 1;  // minimum count of a word; a less frequent word becomes the unknown token
  // rule that divides a text into words; decode() joins words with one space
  WordRule words = WordRule::signs;
  bool normalize = true;  // normalise to NFC
  bool lower_case = false;
  bool end_token = false;  // if true, encode() appends </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";  // unknown token; added to the special tokens if missing
};

// Train a tokenizer; the result is the same for any number of threads of `pool`, which may be null. Throws
// usage if the vocabulary size is too small for the special tokens.
std::shared_ptr<const Tokenizer> train_words(const LineSource& lines, const WordTrainingOptions& options,
                                             ThreadPool* pool = nullptr);

}  // namespace regard::text
