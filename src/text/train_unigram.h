// Unigram tokenizers trained here, in the form of a Hugging Face tokenizer.json. With byte fallback and the
// rules words or gpt2, decode(encode_ids(x)) is x in normal form C, as for BPE (train_bpe.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/alphabet.h"
#include "text/tokenizer.h"
#include "text/training_pipeline.h"

namespace regard::text {

struct UnigramTrainingOptions {
  std::size_t vocabulary_size = 8000;  // special tokens, byte tokens and the alphabet included
  AlphabetLimits alphabet;
  std::uint32_t max_piece_length = 16;  // in characters
  std::size_t seed_pieces = 1000000;
  double shrinking = 0.75;
  int sub_iterations = 2;
  WordRule words = WordRule::words;  // metaspace: pieces as sentencepiece writes them
  bool byte_fallback = true;         // other characters are spelt in bytes; false: they are `unknown`
  bool normalize = true;             // to normal form C
  bool lower_case = false;
  bool prefix_space = false;  // see a text's first word as the others are; metaspace always does
  bool end_token = false;     // encode adds </s>
  std::vector<std::string> special_tokens = kSpecialTokens;
  std::string unknown = "<unk>";              // becomes a special token if it is not among them
  std::function<void(double part)> progress;  // may be empty
};

// Deterministic: the same lines give the same tokenizer for any number of threads. `pool` may be null.
// Throws usage if the vocabulary cannot hold special tokens, byte tokens and alphabet.
std::shared_ptr<const Tokenizer> train_unigram(const LineSource& lines, const UnigramTrainingOptions& options,
                                               ThreadPool* pool = nullptr);

}  // namespace regard::text
